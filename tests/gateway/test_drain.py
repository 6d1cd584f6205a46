"""Stopping lets what runs end, and takes nothing new."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.gateway.client import CHAT, STREAM_BODY, Client, chat, request
from tests.gateway.proxy import keep_little, running, until
from tests.scripted import (
    CHUNKED,
    Gate,
    ScriptedUpstream,
    answer,
    chunked,
    head,
    response,
)


@pytest.mark.parametrize("backend", ["auto", "vllm"])
async def test_running_stream_ends(upstream: ScriptedUpstream, backend: str) -> None:
    """A stream that runs goes on to its end while nothing new is taken."""
    upstream.script = gate = Gate()
    async with (
        running(upstream.url, backend=backend, drain_seconds=30.0) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, body=STREAM_BODY))
        await client.read_until(b"data: 1\n\n")
        stopping = asyncio.create_task(proxy.service.stop())
        await asyncio.sleep(0.05)
        with pytest.raises(ConnectionRefusedError):
            await chat(proxy.url)
        assert not stopping.done()
        gate.open.set()
        await client.read_until(b"data: 2\n\n")
        assert (await client.read_to_end()).endswith(b"0\r\n\r\n")
        await asyncio.wait_for(stopping, 2)


async def test_idle_connections_are_closed_at_once(upstream: ScriptedUpstream) -> None:
    """Who is not being answered is sent away while others still are."""
    upstream.scripts["/page"] = answer(response(b"ok"))
    upstream.script = gate = Gate()
    async with (
        running(upstream.url, drain_seconds=30.0) as proxy,
        await Client.connect(proxy.url) as busy,
        await Client.connect(proxy.url) as idle,
        await Client.connect(proxy.url) as fresh,
        await Client.connect(proxy.url) as half,
    ):
        await busy.send(request("POST", CHAT, body=STREAM_BODY))
        await busy.read_until(b"data: 1\n\n")
        await idle.send(request("GET", "/page"))
        assert (await idle.answer()).body == b"ok"
        await half.send(b"GET /pa")
        await asyncio.sleep(0.02)
        stopping = asyncio.create_task(proxy.service.stop())
        async with asyncio.timeout(1):
            assert await idle.ended()
            assert await fresh.ended()
            assert await half.ended()
        assert not stopping.done()
        gate.open.set()
        await busy.read_until(b"data: 2\n\n")
        await asyncio.wait_for(stopping, 2)


async def test_no_second_request(upstream: ScriptedUpstream) -> None:
    """A connection that is being answered takes no further request, pipelined ones included."""
    upstream.script = gate = Gate()
    async with (
        running(upstream.url, drain_seconds=30.0) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, body=STREAM_BODY) + request("GET", "/second"))
        await client.read_until(b"data: 1\n\n")
        stopping = asyncio.create_task(proxy.service.stop())
        await asyncio.sleep(0.02)
        gate.open.set()
        assert (await client.read_to_end()).endswith(b"0\r\n\r\n")
        await asyncio.wait_for(stopping, 2)
    assert len(upstream.requests) == 1


async def test_cut_off(upstream: ScriptedUpstream) -> None:
    """What takes longer than `drain_seconds` is cut off, without a clean end."""
    upstream.script = Gate()
    async with (
        running(upstream.url, drain_seconds=0.2) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, body=STREAM_BODY))
        await client.read_until(b"data: 1\n\n")
        before = time.monotonic()
        await proxy.service.stop()
        assert 0.2 <= time.monotonic() - before < 0.7
        assert b"0\r\n\r\n" not in await client.read_to_end()
        await until(lambda: upstream.open == 0)


async def test_no_time_to_drain(upstream: ScriptedUpstream) -> None:
    """With `drain_seconds = 0` all is cut off at once, and an idle proxy stops at once."""
    upstream.script = Gate()
    async with (
        running(upstream.url, drain_seconds=0.0) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, body=STREAM_BODY))
        await client.read_until(b"data: 1\n\n")
        before = time.monotonic()
        await proxy.service.stop()
        assert time.monotonic() - before < 0.5
        assert b"0\r\n\r\n" not in await client.read_to_end()


async def test_idle_proxy_stops_at_once(upstream: ScriptedUpstream) -> None:
    """Connections that are kept open, on either side, hold nothing up."""
    upstream.script = answer(response(b"ok"))
    async with (
        running(upstream.url, drain_seconds=30.0) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("GET", "/page"))
        assert (await client.answer()).body == b"ok"
        before = time.monotonic()
        await proxy.service.stop()
        assert time.monotonic() - before < 0.5
        assert await client.ended()


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_slow_client_gets_it_all(upstream: ScriptedUpstream, framing: str) -> None:
    """An answer that the server has sent, and the client has not yet read, is not lost."""
    body = bytes(range(256)) * 800
    pieces = (
        [response(body)] if framing == "length" else [head("200 OK", CHUNKED), *chunked([body])]
    )
    upstream.script = answer(b"".join(pieces))
    async with running(upstream.url, drain_seconds=30.0) as proxy:
        keep_little(proxy)
        async with await Client.connect(proxy.url, receive_buffer=4096) as client:
            await client.send(request("GET", "/page"))
            await client.read_until(b"\r\n\r\n")
            stopping = asyncio.create_task(proxy.service.stop())
            await asyncio.sleep(0.3)
            assert not stopping.done()
            rest = await client.read_to_end()
            assert len(rest) >= len(body)
            assert body in rest or framing == "chunked"
            await asyncio.wait_for(stopping, 2)


async def test_slow_client_is_not_waited_for_forever(upstream: ScriptedUpstream) -> None:
    """A client that reads nothing holds the stop up for `drain_seconds`, not longer."""
    upstream.script = answer(response(b"x" * 200_000))
    async with running(upstream.url, drain_seconds=0.3) as proxy:
        keep_little(proxy)
        async with await Client.connect(proxy.url, receive_buffer=4096) as client:
            await client.send(request("GET", "/page"))
            await client.read_until(b"\r\n\r\n")
            before = time.monotonic()
            await proxy.service.stop()
            assert 0.3 <= time.monotonic() - before < 0.8


async def test_stop_twice(upstream: ScriptedUpstream) -> None:
    """Stopping what has stopped does nothing."""
    async with running(upstream.url) as proxy:
        await proxy.service.stop()
        await proxy.service.stop()
