"""What is large passes byte for byte, through a process that stays small."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.faults.process import MIB, ProxyProcess, proxy_process
from tests.gateway.client import CHAT, STREAM_BODY, Client, chat, request
from tests.scripted import (
    CHUNKED,
    EVENTS,
    JSON,
    SECONDS,
    Call,
    ScriptedUpstream,
    answer,
    chunk,
    event_stream,
    head,
    response,
)

PIECE = bytes(range(32, 127)) * 690  # 64 KiB of text without a line's end
LONG = 64 * MIB
LARGE = 100_000_000
SMALL = 64 * 1024
"""What the system keeps of a connection to somebody slow, in bytes."""

GROWS = 40 * MIB
"""By which the process may grow: some copies are allowed (`body_bytes` is 8 MiB), not all of it."""

DONE = b"data: [DONE]\n\n"
USAGE = (
    b'data: {"object":"chat.completion.chunk","model":"m","choices":[],'
    b'"usage":{"prompt_tokens":3,"completion_tokens":5}}\n\n'
)


class Made:
    """A body that is made as it goes, and its hash."""

    def __init__(self, size: int, *, ends: tuple[bytes, bytes] = (b"", b"")) -> None:
        self.size = size
        self._ends = ends

    async def pieces(self) -> AsyncIterator[bytes]:
        begin, end = self._ends
        left = self.size - len(begin) - len(end)
        if begin:
            yield begin
        while left:
            piece = PIECE[:left]
            left -= len(piece)
            yield piece
        if end:
            yield end

    async def hash(self) -> str:
        made = hashlib.sha256()
        async for piece in self.pieces():
            made.update(piece)
        return made.hexdigest()


class Taken:
    """What came of a body: size and hash, without keeping it."""

    def __init__(self) -> None:
        self.size = 0
        self._hash = hashlib.sha256()

    def take(self, piece: bytes) -> None:
        self.size += len(piece)
        self._hash.update(piece)

    async def take_body(self, reader: asyncio.StreamReader, *, length: int | None) -> None:
        """Read a body with this length, or in chunks."""
        if length is not None:
            await self._take_some(reader, length)
            return
        while size := int(await reader.readuntil(b"\r\n"), 16):
            await self._take_some(reader, size)
            assert await reader.readexactly(2) == b"\r\n"
        assert await reader.readexactly(2) == b"\r\n"

    async def _take_some(self, reader: asyncio.StreamReader, size: int) -> None:
        while size:
            piece = await reader.read(min(size, 256 * 1024))
            assert piece, "the body ended early"
            self.take(piece)
            size -= len(piece)

    def hash(self) -> str:
        return self._hash.hexdigest()


class Slow:
    """Holds a reader back until the other side cannot send more."""

    def __init__(self, *, is_slow: bool) -> None:
        self.sent = 0
        self._is_slow = is_slow

    async def wait(self) -> None:
        if not self._is_slow:
            return
        last = -1
        async with asyncio.timeout(SECONDS):
            while self.sent != last or not last:
                last = self.sent
                await asyncio.sleep(0.2)


def framed(piece: bytes, framing: str) -> bytes:
    return chunk(piece) if framing == "chunked" else piece


@asynccontextmanager
async def stays_small(upstream: ScriptedUpstream, *flags: str) -> AsyncIterator[ProxyProcess]:
    """Run the proxy, and see that it does not grow."""
    async with proxy_process("--upstream", upstream.url, *flags) as proxy:
        await proxy.until_logged("answers")
        files, before = proxy.open_files(), proxy.most_memory()
        yield proxy
        assert proxy.most_memory() - before < GROWS
        await proxy.until_files(files + 1)  # a connection to the server may be kept
        assert proxy.troubles() == []
        assert await proxy.end() == 0


@pytest.mark.parametrize("backend", ["auto", "vllm"])
@pytest.mark.parametrize("has_end", [False, True], ids=["only the line", "numbers behind it"])
async def test_a_line_without_end(upstream: ScriptedUpstream, backend: str, has_end: bool) -> None:
    """A stream with a line of 64 MiB passes; what has no numbers is counted, the next is metered.

    Numbers behind it are still read: they stand in the part that is kept.
    """
    end = b"\n\n" + USAGE + DONE if has_end else b""
    made = Made(LONG, ends=(b"data: ", end))
    # Usage was asked for by the proxy, if the server is known to be vLLM: that is taken out again.
    passed = (
        made
        if backend == "auto"
        else Made(LONG - len(USAGE) * has_end, ends=(b"data: ", end.replace(USAGE, b"")))
    )

    async def script(call: Call) -> None:
        await call.body()
        await call.send(head("200 OK", EVENTS, CHUNKED))
        async for piece in made.pieces():
            await call.send(chunk(piece))
        await call.send(chunk(b""))

    upstream.script = script
    async with stays_small(upstream, "--backend", backend) as proxy:
        taken = Taken()
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            await client.read_until(b"\r\n\r\n")
            await taken.take_body(client._reader, length=None)
        assert (taken.size, taken.hash()) == (passed.size, await passed.hash())
        metrics = await proxy.metrics(lambda m: m.total("requests_total", code="200") == 1)
        reasons = {} if has_end else {"too_large": 1}
        assert metrics.by("unread_completions_total", "reason") == reasons
        upstream.script = event_stream(USAGE, DONE)
        assert (await chat(proxy.url, STREAM_BODY)).complete
        tokens = 10 if has_end else 5
        await proxy.metrics(lambda m: m.total("generated_tokens_total") == tokens)


@pytest.mark.parametrize("is_slow", [False, True], ids=["fast", "slow"])
@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_down(upstream: ScriptedUpstream, framing: str, is_slow: bool) -> None:
    """A completion of 100 MB reaches its client whole; it is too large to be read."""
    made, slow = Made(LARGE), Slow(is_slow=is_slow)
    length = (b"Content-Length", b"%d" % LARGE)

    async def script(call: Call) -> None:
        await call.body()
        call.limit_buffers()
        await call.send(head("200 OK", JSON, CHUNKED if framing == "chunked" else length))
        async for piece in made.pieces():
            await call.send(framed(piece, framing))
            slow.sent += len(piece)
        if framing == "chunked":
            await call.send(chunk(b""))

    upstream.script = script
    upstream.send_buffer = SMALL
    async with stays_small(upstream) as proxy:
        taken = Taken()
        async with await Client.connect(proxy.url, receive_buffer=SMALL * is_slow) as client:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            await client.read_until(b"\r\n\r\n")
            await slow.wait()
            assert slow.sent < LARGE or not is_slow
            await taken.take_body(client._reader, length=None if framing == "chunked" else LARGE)
        assert (taken.size, taken.hash()) == (LARGE, await made.hash())
        metrics = await proxy.metrics(lambda m: m.total("requests_total"))
        assert metrics.by("unread_completions_total", "reason") == {"too_large": 1}
        assert metrics.by("requests_total", "code") == {"200": 1}


@pytest.mark.parametrize("is_slow", [False, True], ids=["fast", "slow"])
@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_up(framing: str, is_slow: bool) -> None:
    """A request of 100 MB reaches its server whole, though only 8 MiB of it are looked at."""
    made, slow, taken = Made(LARGE, ends=(b'{"prompt":"', b'"}')), Slow(is_slow=is_slow), Taken()

    async def script(call: Call) -> None:
        is_chunked = call.request.all(b"transfer-encoding") == [b"chunked"]
        await slow.wait()
        assert slow.sent < LARGE or not is_slow
        await taken.take_body(call._reader, length=None if is_chunked else LARGE)
        call._body_read = True
        await call.send(response(b'{"usage":{"completion_tokens":3}}'))

    field = CHUNKED if framing == "chunked" else (b"Content-Length", b"%d" % LARGE)
    async with (
        ScriptedUpstream(script, receive_buffer=SMALL * is_slow) as upstream,
        stays_small(upstream, "--backend", "vllm") as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, field))
        async for piece in made.pieces():
            await client.send(framed(piece, framing))
            slow.sent += len(piece)
        if framing == "chunked":
            await client.send(chunk(b""))
        assert (await client.answer()).status == 200
        assert (taken.size, taken.hash()) == (LARGE, await made.hash())
        metrics = await proxy.metrics(lambda m: m.total("generated_tokens_total") == 3)
        assert metrics.by("requests_total", "code") == {"200": 1}


async def test_an_event_that_comes_in_small_pieces(upstream: ScriptedUpstream) -> None:
    """One event of 2 MiB in pieces of 1 KiB passes, and leaves the next request alone."""
    event = b"data: " + PIECE * 32 + b"\n\n"
    pieces = [event[at : at + 1024] for at in range(0, len(event), 1024)]
    upstream.script = event_stream(*pieces, USAGE, DONE)
    async with stays_small(upstream, "--backend", "vllm") as proxy:
        got = await chat(proxy.url, STREAM_BODY)
        assert got.complete
        assert got.body == event + DONE
        upstream.script = answer(response(b"next"))
        assert (await chat(proxy.url)).body == b"next"
