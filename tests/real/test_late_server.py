"""The proxy may be up before the server."""

import asyncio
from typing import Any

import openai
import pytest

from specmeter.demo.llama_server import running_llama_server
from specmeter.demo.model import Model
from tests.ports import free_port
from tests.real.openai_client import CHAT, sync_client
from tests.real.proxy import running_proxy, until


async def test_server_that_starts_later_is_found(llama_model: Model) -> None:
    """Clients are told what is wrong, and once the server is up the first answer is labelled."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    async with running_proxy(url, ready=False) as proxy:
        with sync_client(proxy.url) as client:

            def ask() -> Any:
                return client.chat.completions.create(**CHAT)

            with pytest.raises(openai.InternalServerError) as caught:
                await asyncio.to_thread(ask)
            assert caught.value.status_code == 502
            assert f'specmeter: upstream "default" at {url}' in caught.value.message
            assert caught.value.response.headers["x-specmeter-error"] == "cannot_connect"
            assert not await proxy.is_ready()

            async with running_llama_server(
                llama_model.path, alias="late-model", port=port, threads=1
            ):
                await asyncio.to_thread(ask)
                await until(proxy.has_counted)
                page = await proxy.page()
    assert page.total("specmeter_completions_total", model_name="late-model") == 1
    assert page.total("specmeter_completions_total") == 1
    assert page.total("specmeter_upstream_up") == 1
    assert page.total("specmeter_upstream_info", backend="llama_cpp") == 1
    assert page.total("specmeter_upstream_failures_total", reason="cannot_connect") == 1
    assert page.total("specmeter_requests_total", code="502") == 1
