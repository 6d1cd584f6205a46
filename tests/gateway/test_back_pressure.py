"""Who is slow makes the other side wait; the proxy keeps little."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path

import pytest

from specmeter.gateway.protocol import DataProtocol
from tests.gateway.client import Client, ask, request
from tests.gateway.proxy import Proxy, keep_little, running, until
from tests.scripted import (
    CHUNKED,
    SECONDS,
    Call,
    ScriptedUpstream,
    answer,
    chunk,
    head,
    response,
)

MIB = 1024 * 1024
PIECE = bytes(range(256)) * 1024  # 256 KiB
PIECES = 256
TOTAL = PIECES * len(PIECE)  # 64 MiB
SMALL = 64 * 1024
FEW = 12 * MIB
"""What this process may keep, and what the system may where its buffers are limited."""

SYSTEM = 48 * MIB
"""What the system may keep of its own accord."""


def buffered(proxy: Proxy) -> int:
    """Return how many bytes for clients wait in this process."""
    server = proxy.front.server
    assert server is not None
    waiting = 0
    for connection in server.connections:
        assert isinstance(connection, DataProtocol)
        if connection.transport is not None:
            waiting += connection.transport.get_write_buffer_size()
    return waiting


def memory() -> int:
    """Return how much memory this process has, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def stalled(count: list[int]) -> int:
    """Wait until a number no longer grows; return it."""
    last = -1
    async with asyncio.timeout(SECONDS):
        while count[0] != last:
            last = count[0]
            await asyncio.sleep(0.2)
    return last


async def flood(call: Call, sent: list[int], framing: str) -> None:
    """Send 64 MiB as fast as they are taken."""
    await call.body()
    call.limit_buffers()
    if framing == "chunked":
        await call.send(head("200 OK", CHUNKED))
        piece, end = chunk(PIECE), b"0\r\n\r\n"
    elif framing == "length":
        await call.send(head("200 OK", (b"Content-Length", b"%d" % TOTAL)))
        piece, end = PIECE, b""
    else:
        await call.send(head("200 OK"))
        piece, end = PIECE, b""
    for _ in range(PIECES):
        await call.send(piece)
        sent[0] += len(PIECE)
    await call.send(end)
    if framing == "close":
        call.close()


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
async def test_slow_client(upstream: ScriptedUpstream, framing: str) -> None:
    """A client that does not read stalls the server; then everything arrives."""
    sent = [0]

    async def script(call: Call) -> None:
        await flood(call, sent, framing)

    upstream.script = script
    upstream.send_buffer = SMALL
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url, receive_buffer=SMALL) as client:
            before = memory()
            await client.send(request("GET", "/large"))
            await until(lambda: sent[0] > 0)
            assert await stalled(sent) < SYSTEM
            assert buffered(proxy) < MIB
            assert memory() - before < FEW
            got = await client.answer()
        assert got.complete
        assert got.body == PIECE * PIECES


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_connection_of_a_slow_client_is_fit_for_the_next(
    upstream: ScriptedUpstream, framing: str
) -> None:
    """A server's connection that had to wait is not left waiting for the request after it."""
    body = b"x" * 200_000
    whole = response(body) if framing == "length" else head("200 OK", CHUNKED) + chunk(body)
    upstream.script = answer(whole + (b"" if framing == "length" else b"0\r\n\r\n"))
    async with running(upstream.url) as proxy:
        keep_little(proxy)
        async with await Client.connect(proxy.url, receive_buffer=4096) as slow:
            await slow.send(request("GET", "/large"))
            await until(lambda: buffered(proxy) > 0)
            assert (await ask(proxy.url, "GET", "/large")).body == body
            assert (await slow.answer()).body == body
        for _ in range(3):
            assert (await ask(proxy.url, "GET", "/large")).body == body


async def test_client_that_reads_nothing_of_many_answers(upstream: ScriptedUpstream) -> None:
    """Pipelined requests of a client that does not read are not answered into memory."""
    body = b"x" * 50_000
    upstream.script = answer(response(body))
    count = 400
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url, receive_buffer=4096) as client:
            await client.send(request("GET", "/page") * count)
            answered = [0]

            async def follow() -> None:
                while True:
                    answered[0] = len(upstream.requests)
                    await asyncio.sleep(0.02)

            following = asyncio.create_task(follow())
            await until(lambda: answered[0] > 2)
            await stalled(answered)
            following.cancel()
            assert buffered(proxy) < MIB
            for _ in range(count):
                assert (await client.answer()).body == body
        assert len(upstream.requests) == count


async def test_slow_server() -> None:
    """A server that does not read stalls the upload; then everything arrives."""
    go_on = asyncio.Event()

    async def script(call: Call) -> None:
        await go_on.wait()
        assert await call.body() == PIECE * PIECES
        await call.send(response(b"ok"))

    async def upload(client: Client, sent: list[int]) -> None:
        await client.send(request("POST", "/up", (b"Content-Length", b"%d" % TOTAL)))
        for _ in range(PIECES):
            await client.send(PIECE)
            sent[0] += len(PIECE)

    sent = [0]
    async with (
        ScriptedUpstream(script, receive_buffer=SMALL) as upstream,
        running(upstream.url) as proxy,
    ):
        keep_little(proxy, SMALL)
        before = memory()
        async with await Client.connect(proxy.url) as client:
            uploading = asyncio.create_task(upload(client, sent))
            await until(lambda: sent[0] > 0)
            assert await stalled(sent) < FEW
            assert memory() - before < FEW
            go_on.set()
            async with asyncio.timeout(SECONDS):
                await uploading
            assert (await client.answer()).body == b"ok"
