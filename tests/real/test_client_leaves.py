"""A client that leaves ends the server's work for it, and is counted as one that left."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from specmeter.demo.llama_server import LlamaServer
from tests.real.openai_client import CHAT, ENDLESS, async_client, sync_client
from tests.real.page import Page
from tests.real.proxy import Proxy, is_generating, running_proxy, until

ENDPOINT = "/v1/chat/completions"


def assert_left(page: Page) -> None:
    """One client left, and that is all that happened."""
    assert page.total("specmeter_client_left_total", endpoint=ENDPOINT) == 1
    assert page.total("specmeter_client_left_total") == 1
    assert page.total("specmeter_completions_total") == 0
    assert page.total("specmeter_upstream_failures_total") == 0
    assert page.total("specmeter_unread_completions_total") == 0


async def wait_for_left(proxy: Proxy) -> None:
    async def has_left() -> bool:
        return (await proxy.page()).total("specmeter_client_left_total") > 0

    await until(has_left, seconds=1.0)


@asynccontextmanager
async def stopped_within_a_second(server: LlamaServer, proxy: Proxy) -> AsyncIterator[None]:
    """Require that the server ends what the block left, long before its end."""

    async def is_idle() -> bool:
        return not await is_generating(proxy.client, server.url)

    before = await proxy.server_counts()
    yield
    await until(is_idle, seconds=1.0)
    gained = (await proxy.server_counts()).since(before)
    assert 0 < gained.generated < ENDLESS["max_tokens"] / 2
    await wait_for_left(proxy)
    assert_left(await proxy.page())


async def test_async_stream_closed_early(plain_llama: LlamaServer, plain_proxy: Proxy) -> None:
    """An asynchronous stream that is closed stops the server."""
    async with (
        async_client(plain_proxy.url) as client,
        stopped_within_a_second(plain_llama, plain_proxy),
    ):
        stream = await client.chat.completions.create(**ENDLESS, stream=True)
        async for piece in stream:
            if piece.choices[0].delta.content:
                break
        assert await is_generating(plain_proxy.client, plain_llama.url)
        await stream.close()


async def test_cancelled_stream_is_metered_up_to_its_last_chunk(
    draft_simple_llama: LlamaServer,
) -> None:
    """With `meter_cancelled`, what came before the client left counts, drafts included."""
    async with (
        running_proxy(draft_simple_llama.url, meter_cancelled=True) as proxy,
        async_client(proxy.url) as client,
    ):
        await client.chat.completions.create(**CHAT)  # tells the kind of server
        proxy.completions.clear()
        before = await proxy.server_counts()
        seen = 0
        stream = await client.chat.completions.create(**ENDLESS, stream=True)
        async for piece in stream:
            assert "timings" not in (piece.model_extra or {})
            seen += bool(piece.choices[0].delta.content)
            if seen == 12:
                break
        await stream.close()
        await until(proxy.has_counted)

        async def is_idle() -> bool:
            return not await is_generating(proxy.client, draft_simple_llama.url)

        await until(is_idle)
        gained = (await proxy.server_counts()).since(before)
        (one,) = proxy.completions
        page = await proxy.page()
    assert one.reading.generated is not None
    assert 12 <= one.reading.generated <= gained.generated
    assert one.reading.drafted is not None
    assert 0 < one.reading.drafted <= gained.drafted
    assert page.total("specmeter_client_left_total") == 1
    assert page.total("specmeter_unread_completions_total") == 0


async def test_asking_for_timings_changes_nothing_for_the_client(
    draft_simple_llama: LlamaServer,
) -> None:
    """The stream is the one that the server sends unasked, but for ids and measured times."""

    def plain(stream: bytes) -> bytes:
        changing = rb'"(\w*id|created\w*|\w+_ms|\w+_per_second)":("[^"]*"|[0-9.e+-]+)'
        return re.sub(changing, rb'"\1":0', stream)

    for path in ("/v1/chat/completions", "/v1/completions", "/completion", "/v1/responses"):
        body = body_of(path)
        async with running_proxy(draft_simple_llama.url, meter_cancelled=True) as proxy:
            for _ in range(2):  # the first answer of each fills the cache and tells the kind
                got = await proxy.post(path, **body)
        async with running_proxy(draft_simple_llama.url) as proxy:
            unasked = await proxy.post(path, **body)
        assert plain(got) == plain(unasked)
        assert proxy.completions[-1].reading.drafted


def body_of(path: str) -> dict[str, Any]:
    """Return a streamed request that an endpoint takes."""
    text = "one two three one two three one two"
    told: dict[str, dict[str, Any]] = {
        "/v1/chat/completions": {"messages": [{"role": "user", "content": text}]},
        "/v1/responses": {"input": text},
    }
    most = "max_output_tokens" if path == "/v1/responses" else "max_tokens"
    return {
        **told.get(path, {"prompt": text}),
        most: 24,
        "temperature": 0,
        "seed": 1,
        "stream": True,
    }


async def test_sync_stream_closed_early(plain_llama: LlamaServer, plain_proxy: Proxy) -> None:
    """A stream of the synchronous client that is left in mid-loop stops the server."""

    def read_three() -> int:
        with client.chat.completions.create(**ENDLESS, stream=True) as stream:
            return sum(1 for _, _ in zip(range(3), stream, strict=False))

    with sync_client(plain_proxy.url) as client:
        async with stopped_within_a_second(plain_llama, plain_proxy):
            assert await asyncio.to_thread(read_three) == 3


async def test_request_cancelled_before_its_answer(
    plain_llama: LlamaServer, plain_proxy: Proxy
) -> None:
    """A client that does not wait for a whole answer has left, though the server may go on.

    llama.cpp looks for the client of a request that is not streamed only at the end.
    """

    async def is_at_work() -> bool:
        return await is_generating(plain_proxy.client, plain_llama.url)

    async def is_idle() -> bool:
        return not await is_at_work()

    async with async_client(plain_proxy.url) as client:
        request = asyncio.create_task(
            client.chat.completions.create(**ENDLESS | {"max_tokens": 48})
        )
        await until(is_at_work)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
    await wait_for_left(plain_proxy)
    await until(is_idle)
    page = await plain_proxy.page()
    assert_left(page)
    assert page.total("specmeter_requests_total", endpoint=ENDPOINT, code="499") == 1
