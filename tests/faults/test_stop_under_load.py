"""Told to stop under load: what runs ends whole, what comes too late reaches no server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from prometheus_client import generate_latest

from tests.faults.process import proxy_process
from tests.gateway.client import CHAT, CHAT_BODY, STREAM_BODY, Answer, Client, request
from tests.gateway.command import refuses
from tests.gateway.proxy import Metrics, running, until
from tests.scripted import (
    CHUNKED,
    EVENTS,
    JSON,
    SECONDS,
    Call,
    ScriptedUpstream,
    answer,
    chunk,
    head,
    response,
)

EACH = 15
"""Clients of each kind."""

USAGE = b'{"usage":{"prompt_tokens":1,"completion_tokens":2}}'


class Held:
    """Begins an answer, and ends it once it is let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.begun = 0

    async def __call__(self, call: Call) -> None:
        is_stream = b'"stream":true' in await call.body()
        if is_stream:
            await call.send(head("200 OK", EVENTS, CHUNKED), chunk(b"data: {}\n\n"))
        self.begun += 1
        await self.go.wait()
        if is_stream:
            await call.send(chunk(b"data: " + USAGE + b"\n\n"), chunk(b""))
        else:
            await call.send(response(USAGE, "200 OK", JSON))


async def ask_on(client: Client) -> tuple[int, bool]:
    """Ask again and again on one connection until it ends.

    Returns:
        How many answers came whole, and whether the last one was only a part.
    """
    whole = 0
    while True:
        try:
            await client.send(request("GET", "/page"))
        except ConnectionError:
            return whole, False
        got = await client.answer()
        if not got.complete:
            return whole, bool(got.head)
        assert (got.status, got.body) == (200, b"ok")
        whole += 1


@asynccontextmanager
async def connected(url: str, count: int = EACH) -> AsyncIterator[list[Client]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(await Client.connect(url)) for _ in range(count)]


async def the_rest(client: Client) -> Answer:
    got = await client.answer()
    assert await client.ended()
    return got


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_process(upstream: ScriptedUpstream, number: signal.Signals) -> None:
    """Answers end whole and close, idle clients are let go, no request is half done; status 0."""
    upstream.script = held = Held()
    upstream.scripts["/page"] = answer(response(b"ok"))
    async with (
        proxy_process("--upstream", upstream.url) as proxy,
        connected(proxy.url) as streams,
        connected(proxy.url) as documents,
        connected(proxy.url) as idle,
        connected(proxy.url) as busy,
    ):
        for client in streams:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
        for client in documents:
            await client.send(request("POST", CHAT, body=CHAT_BODY))
        await until(lambda: held.begun == 2 * EACH)
        asking = [asyncio.create_task(ask_on(client)) for client in busy]
        await until(lambda: len(upstream.requests) > 5 * EACH)

        proxy.process.send_signal(number)
        await proxy.until_logged("stopping")
        await refuses(proxy.url)
        for client in idle:
            assert await client.ended()
        async with asyncio.timeout(SECONDS):
            asked = await asyncio.gather(*asking)
        # Whatever reached the server was answered, and what was not answered never did.
        assert not any(is_part for _, is_part in asked)
        pages = [one for one in upstream.requests if one.target == b"/page"]
        assert len(pages) == sum(whole for whole, _ in asked)
        # Its metrics can be read while it drains.
        await proxy.metrics(lambda m: m.total("requests_total", endpoint="other") == len(pages))
        assert proxy.process.returncode is None

        held.go.set()
        for client in streams:
            got = await the_rest(client)
            assert got.complete
            assert got.body == b"data: {}\n\ndata: " + USAGE + b"\n\n"
        for client in documents:
            got = await the_rest(client)
            assert (got.status, got.body) == (200, USAGE)
        async with asyncio.timeout(SECONDS):
            assert await proxy.process.wait() == 0
        assert proxy.troubles() == []
        assert "cut off" not in "".join(proxy.lines)


async def test_all_is_counted_before_the_end(upstream: ScriptedUpstream) -> None:
    """What ended while it drained is in the counters when the last page is read."""
    upstream.script = held = Held()
    async with running(upstream.url, drain_seconds=30.0) as proxy, connected(proxy.url) as streams:
        for client in streams:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
        await until(lambda: held.begun == EACH)
        stopping = asyncio.create_task(proxy.service.stop())
        held.go.set()
        for client in streams:
            assert (await client.answer()).complete
        await stopping
        metrics = Metrics(generate_latest(proxy.service.registry))
    assert metrics.by("requests_total", "code") == {"200": EACH}
    assert metrics.total("generated_tokens_total") == 2 * EACH
    assert metrics.by("client_left_total", "endpoint") == {}
    assert metrics.by("upstream_failures_total", "reason") == {}


async def test_requests_that_are_sent_while_it_drains(upstream: ScriptedUpstream) -> None:
    """A second request on a connection whose answer runs is not begun, nor is one sent ahead."""
    upstream.script = held = Held()
    async with (
        proxy_process("--upstream", upstream.url) as proxy,
        connected(proxy.url) as ahead,
        connected(proxy.url) as later,
    ):
        for client in ahead:
            await client.send(request("POST", CHAT, body=CHAT_BODY) * 3)
        for client in later:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
        await until(lambda: held.begun == 2 * EACH)
        proxy.process.terminate()
        await proxy.until_logged("stopping")
        for client in later:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
        held.go.set()
        for client in (*ahead, *later):
            assert (await the_rest(client)).complete
        assert len(upstream.requests) == 2 * EACH
        assert await proxy.end() == 0
        assert proxy.troubles() == []


async def test_told_until_it_is_gone(upstream: ScriptedUpstream) -> None:
    """However often it is told, and be it while the last of it ends: the status is 0."""
    async with proxy_process("--upstream", upstream.url) as proxy:
        await proxy.until_logged("answers")
        async with asyncio.timeout(SECONDS):
            while proxy.process.returncode is None:
                proxy.process.terminate()
                await asyncio.sleep(0.001)
        assert await proxy.process.wait() == 0
        assert proxy.troubles() == []
