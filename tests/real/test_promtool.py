"""Prometheus's own checker on the live page."""

import asyncio
import shutil
from asyncio.subprocess import PIPE, STDOUT

import pytest

from specmeter.demo.llama_server import LlamaServer
from tests.real.proxy import running_proxy
from tests.real.requests import COLOURS, chat, text


async def test_metrics_page_is_in_order(ngram_mod_llama: LlamaServer) -> None:
    """After traffic and a failure, promtool finds nothing to say about the page."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.fail("promtool is not installed: apt-get install prometheus")
    async with running_proxy(ngram_mod_llama.url) as proxy:
        await proxy.post("/v1/completions", **text(COLOURS, stream=True))
        await proxy.post("/v1/messages", **chat("Say hello.", max_tokens=4))
        async with proxy.client.get(f"{proxy.url}/no/such/path") as response:
            assert response.status == 404
        async with proxy.client.get(f"{proxy.admin_url}/metrics") as response:
            page = await response.read()
    checker = await asyncio.create_subprocess_exec(
        promtool, "check", "metrics", stdin=PIPE, stdout=PIPE, stderr=STDOUT
    )
    said, _ = await checker.communicate(page)
    assert (checker.returncode, said.decode()) == (0, "")
    assert b"specmeter_spec_decode_num_draft_tokens_total" in page
