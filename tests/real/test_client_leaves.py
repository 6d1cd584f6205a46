"""A client that leaves ends the server's work for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from specmeter.demo.llama_server import LlamaServer
from tests.real.openai_client import ENDLESS, async_client, sync_client
from tests.real.proxy import Proxy, is_generating, until

CHAT_ENDPOINT = "/v1/chat/completions"


@asynccontextmanager
async def stopping_within(
    seconds: float, server: LlamaServer, proxy: Proxy
) -> AsyncIterator[None]:
    """Require that what the block leaves stops generating, long before its end, and is counted."""

    async def at_work() -> bool:
        return await is_generating(proxy.client, server.url)

    async def idle() -> bool:
        return not await at_work()

    async def counted() -> bool:
        page = await proxy.page()
        return page.total("specmeter_client_left_total", endpoint=CHAT_ENDPOINT) == 1

    before = await proxy.server_counts()
    yield
    await until(idle, seconds)
    await until(counted)
    gained = (await proxy.server_counts()).since(before)
    assert 0 < gained.generated < 512
    page = await proxy.page()
    assert page.total("specmeter_client_left_total") == 1
    assert page.total("specmeter_upstream_failures_total") == 0
    assert page.total("specmeter_unread_completions_total") == 0
    assert proxy.completions == []


async def test_async_stream_closed_early(plain_llama: LlamaServer, plain_proxy: Proxy) -> None:
    """An asynchronous stream that is closed stops the server within a second."""
    async with async_client(plain_proxy.url) as client:
        async with stopping_within(1.0, plain_llama, plain_proxy):
            stream = await client.chat.completions.create(**ENDLESS, stream=True)
            async for piece in stream:
                if piece.choices[0].delta.content:
                    break
            assert await is_generating(plain_proxy.client, plain_llama.url)
            await stream.close()


async def test_sync_stream_closed_early(plain_llama: LlamaServer, plain_proxy: Proxy) -> None:
    """A stream of the synchronous client, left in the middle of its loop, stops the server."""

    def leave_early() -> int:
        with client.chat.completions.create(**ENDLESS, stream=True) as stream:
            for count, _ in enumerate(stream):
                if count == 3:
                    return count
        return 0

    with sync_client(plain_proxy.url) as client:
        async with stopping_within(1.0, plain_llama, plain_proxy):
            assert await asyncio.to_thread(leave_early) == 3


async def test_request_cancelled_before_its_answer(
    plain_llama: LlamaServer, plain_proxy: Proxy
) -> None:
    """A request that is not streamed stops the server, which looks for its client each second."""

    async def at_work() -> bool:
        return await is_generating(plain_proxy.client, plain_llama.url)

    async with async_client(plain_proxy.url) as client:
        async with stopping_within(2.0, plain_llama, plain_proxy):
            request = asyncio.create_task(client.chat.completions.create(**ENDLESS))
            await until(at_work)
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
    page = await plain_proxy.page()
    assert page.total("specmeter_requests_total", endpoint=CHAT_ENDPOINT, code="499") == 1
