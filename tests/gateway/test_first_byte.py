"""Nothing is held back: each event reaches the client before the server sends the next."""

from __future__ import annotations

import asyncio

import pytest

from specmeter import sse
from tests.gateway.client import CHAT, Client, request
from tests.gateway.proxy import running
from tests.replay import capture
from tests.scripted import CHUNKED, EVENTS, SECONDS, Call, ScriptedUpstream, chunk, head

FRAMINGS = ("chunked", "close", "length")
ASKED = capture("vllm/chat_stream_usage").body
LLAMA = capture("llama_cpp/ngram-mod/chat_stop_word").body
BODY = b'{"model":"m","stream":true}'


def events_of(stream: bytes) -> list[bytes]:
    return [stream[event.start : event.end] for event in sse.events(stream)]


class Handshake:
    """Sends one event at a time, each after the client has got the one before."""

    def __init__(self, stream: bytes, framing: str) -> None:
        self.events = events_of(stream)
        self._framing = framing
        self.got = asyncio.Semaphore(0)
        """Released by the client for each event it has got, and for the head."""

    async def __call__(self, call: Call) -> None:
        await call.body()
        total = sum(len(event) for event in self.events)
        fields = {
            "chunked": (CHUNKED,),
            "close": (),
            "length": ((b"Content-Length", b"%d" % total),),
        }[self._framing]
        await call.send(head("200 OK", EVENTS, *fields))
        for event in self.events:
            async with asyncio.timeout(SECONDS):
                await self.got.acquire()
            await call.send(chunk(event) if self._framing == "chunked" else event)
        async with asyncio.timeout(SECONDS):
            await self.got.acquire()
        if self._framing == "chunked":
            await call.send(b"0\r\n\r\n")
        elif self._framing == "close":
            call.close()


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(
    ("backend", "inject", "stream"),
    [
        ("auto", True, LLAMA),
        ("llama_cpp", True, LLAMA),
        ("vllm", False, ASKED),
        ("openai", True, LLAMA),
    ],
)
async def test_each_event_at_once(
    upstream: ScriptedUpstream, backend: str, inject: bool, stream: bytes, framing: str
) -> None:
    """The head comes before the first event, and each event before the next one is sent."""
    upstream.script = handshake = Handshake(stream, framing)
    async with (
        running(upstream.url, backend=backend, inject=inject) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, body=BODY))
        await client.read_until(b"\r\n\r\n")
        handshake.got.release()
        for event in handshake.events:
            assert (await client.read_until(event)).endswith(event)
            handshake.got.release()


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_each_event_at_once_though_asked_for_usage(
    upstream: ScriptedUpstream, framing: str
) -> None:
    """Only the finish chunk waits, and only for the event behind it, which vLLM sends at once."""
    upstream.script = handshake = Handshake(ASKED, framing)
    async with (
        running(upstream.url, backend="vllm") as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, body=BODY))
        await client.read_until(b"\r\n\r\n")
        handshake.got.release()
        finish = next(at for at, e in enumerate(handshake.events) if b'"finish_reason":"' in e)
        for event in handshake.events[:finish]:
            assert (await client.read_until(event)).endswith(event)
            handshake.got.release()
        handshake.got.release()  # for the usage chunk, which the client does not get
        with_fingerprint = handshake.events[finish][:-3]  # without its closing brace
        await client.read_until(with_fingerprint + b',"system_fingerprint":')
        handshake.got.release()
        await client.read_until(b"data: [DONE]\n\n")
        handshake.got.release()


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_half_an_event_at_once(upstream: ScriptedUpstream, framing: str) -> None:
    """Without asking for usage not even a whole event is waited for."""
    upstream.script = handshake = Handshake(b"", framing)
    handshake.events = [b"data: {", b'"choices":[', b"]}", b"\n", b"\n"]
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("POST", CHAT, body=BODY))
        await client.read_until(b"\r\n\r\n")
        handshake.got.release()
        for piece in handshake.events:
            assert (await client.read_until(piece)).endswith(piece)
            handshake.got.release()


async def test_request_body_at_once(upstream: ScriptedUpstream) -> None:
    """A piece of an upload reaches the server before the client sends the next."""
    got = asyncio.Semaphore(0)

    async def script(call: Call) -> None:
        for piece in (b"one", b"two", b"three"):
            read = b""
            while piece not in read:
                read += await call.read_some(100)
            got.release()
        await call.send(head("200 OK", (b"Content-Length", b"0")))
        call.close()

    upstream.script = script
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("POST", "/upload", CHUNKED))
        for piece in (b"one", b"two", b"three"):
            await client.send(chunk(piece))
            async with asyncio.timeout(SECONDS):
                await got.acquire()
        await client.send(b"0\r\n\r\n")
        assert (await client.answer()).status == 200


async def test_headers_of_a_long_wait(upstream: ScriptedUpstream) -> None:
    """A head that comes long before its body is not kept until then, with a length too."""
    go_on = asyncio.Event()

    async def script(call: Call) -> None:
        await call.body()
        await call.send(head("200 OK", (b"Content-Length", b"2")))
        await go_on.wait()
        await call.send(b"ok")

    upstream.script = script
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("GET", "/slow"))
        assert (await client.read_until(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 OK\r\n")
        go_on.set()
        assert await client.read_exactly(2) == b"ok"
