"""With `idle_seconds`, a server that says nothing is given up; a slow client is not its fault."""

from __future__ import annotations

import asyncio

from tests.gateway.checks import counted, told, works
from tests.gateway.client import Client, ask, chat, request
from tests.gateway.proxy import running, until
from tests.scripted import (
    CHUNKED,
    EVENTS,
    Call,
    ScriptedUpstream,
    answer,
    chunk,
    head,
    response,
    then_hang,
)


async def test_silent_before_the_head(upstream: ScriptedUpstream) -> None:
    """With `idle_seconds`, a server that says nothing is given up with 504."""
    upstream.script = then_hang()
    async with running(upstream.url, idle_seconds=0.2) as proxy:
        got = await chat(proxy.url)
        told(got, upstream.url, 504, "silent")
        assert "0.2 s" in got.error["message"]
        await counted(proxy, 504, "silent")
        await until(lambda: upstream.open == 0)
        await works(proxy, upstream)


async def test_silent_within_a_stream(upstream: ScriptedUpstream) -> None:
    """With `idle_seconds`, a stream that stops breaks off."""
    upstream.script = then_hang(head("200 OK", EVENTS, CHUNKED), chunk(b"part"))
    async with running(upstream.url, idle_seconds=0.2) as proxy:
        got = await chat(proxy.url)
        assert not got.complete
        assert got.body == b"part"
        await counted(proxy, 200, "silent")
        await until(lambda: upstream.open == 0)


async def test_slow_is_not_silent(upstream: ScriptedUpstream) -> None:
    """A stream of many short pauses may take longer than `idle_seconds` in all."""

    async def script(call: Call) -> None:
        await call.body()
        await call.send(head("200 OK", EVENTS, CHUNKED))
        for _ in range(10):
            await asyncio.sleep(0.05)
            await call.send(chunk(b"x"))
        await call.send(chunk(b""))

    upstream.script = script
    async with running(upstream.url, idle_seconds=0.25) as proxy:
        got = await chat(proxy.url)
    assert got.complete
    assert got.body == b"x" * 10


async def test_slow_client_is_not_a_silent_server(upstream: ScriptedUpstream) -> None:
    """While the client takes its time to send its request, the server cannot answer."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url, idle_seconds=0.2) as proxy:
        async with await Client.connect(proxy.url) as client:
            whole = request("POST", "/upload", body=b"x" * 100)
            await client.send(whole[:-50])
            await asyncio.sleep(0.5)
            await client.send(whole[-50:])
            assert (await client.answer()).status == 200
        assert (await proxy.metrics()).by("upstream_failures_total", "reason") == {}


async def test_slow_reader_is_not_a_silent_server(upstream: ScriptedUpstream) -> None:
    """While the client takes its time to read, the server cannot send."""
    body = b"x" * 20_000_000
    upstream.script = answer(response(body))
    async with running(upstream.url, idle_seconds=0.2) as proxy:
        async with await Client.connect(proxy.url, receive_buffer=4096) as client:
            await client.send(request("GET", "/large"))
            await asyncio.sleep(0.6)
            got = await client.answer()
        assert got.complete
        assert got.body == body


async def test_server_that_takes_nothing_is_silent(upstream: ScriptedUpstream) -> None:
    """A server that stops reading an upload is given up after `idle_seconds`."""
    done = asyncio.Event()

    async def script(call: Call) -> None:
        await done.wait()
        call.close()

    upstream.script = script
    async with running(upstream.url, idle_seconds=0.3) as proxy:
        got = await ask(proxy.url, "POST", "/upload", body=b"x" * 30_000_000)
        told(got, upstream.url, 504, "silent")
        done.set()
