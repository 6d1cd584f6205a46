"""Whatever a client sends: it is told what is wrong, and nothing odd reaches a server."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.gateway.checks import works
from tests.gateway.client import CHAT, CHAT_BODY, Client, ask, request
from tests.gateway.proxy import running, until
from tests.scripted import (
    CHUNKED,
    EVENTS,
    Call,
    Field,
    ScriptedUpstream,
    answer,
    chunk,
    head,
    response,
)

HOST = b"Host: proxy.test\r\n"

MALFORMED: dict[str, bytes] = {
    "garbage": b"\x00\x01\x02 nothing\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 100 + b"\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "unknown method": b"FROB / HTTP/1.1\r\n" + HOST + b"\r\n",
    "odd version": b"GET / HTTP/1.9x\r\n" + HOST + b"\r\n",
    "blank in the target": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "not ASCII in the target": b"GET /\xc3\xbc HTTP/1.1\r\n" + HOST + b"\r\n",
    "no target": b"GET  HTTP/1.1\r\n" + HOST + b"\r\n",
    "header without a colon": b"GET / HTTP/1.1\r\n" + HOST + b"nothing\r\n\r\n",
    "blank before the colon": b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length : 5\r\n\r\nhello",
    "folded header": b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n c\r\n\r\n",
    "bare CR in a header": b"GET / HTTP/1.1\r\n" + HOST + b"A: b\rX: y\r\n\r\n",
    "bare LF after a header": b"GET / HTTP/1.1\r\n" + HOST + b"A: b\nX: y\r\n\r\n",
    "NUL in a header": b"GET / HTTP/1.1\r\n" + HOST + b"A: b\x00c\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\n"
    + HOST
    + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "length and chunks": b"POST / HTTP/1.1\r\n"
    + HOST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": b"POST / HTTP/1.1\r\n"
    + HOST
    + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "negative length": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
    "length with a sign": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: +5\r\n\r\nhello",
    "length in words": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: five\r\n\r\n",
    "absurd length": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n",
    "unknown coding": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n\r\n",
    "chunked, not last": b"POST / HTTP/1.1\r\n"
    + HOST
    + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "hidden chunked": b"POST / HTTP/1.1\r\n"
    + HOST
    + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "large header": b"GET / HTTP/1.1\r\n" + HOST + b"A: " + b"x" * 70_000 + b"\r\n\r\n",
    "large target": b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n" * 5000 + b"\r\n",
}


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_request(
    upstream: ScriptedUpstream, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """What is no HTTP gets a clear 400, is counted, and ends its connection, no other."""
    upstream.script = answer(response(b"never"))
    async with running(upstream.url) as proxy:
        with caplog.at_level(logging.ERROR):
            async with await Client.connect(proxy.url) as client:
                await client.send(sent)
                got = await client.answer()
                assert got.status == 400
                assert got.error["code"] == "bad_request"
                assert "malformed" in got.error["message"]
                assert got.closes or got.head.startswith(b"HTTP/1.0")
                assert await client.ended()
        assert caplog.records == []
        metrics = await proxy.metrics()
        assert metrics.by("requests_total", "code") == {"400": 1}
        assert metrics.by("requests_total", "upstream") == {"none": 1}
        assert upstream.requests == []
        await works(proxy, upstream)


async def test_secret_in_a_malformed_request(upstream: ScriptedUpstream) -> None:
    """What is wrong is said without repeating the client's bytes."""
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(b"GET / HTTP/1.1\r\nAuthorization: Bearer sk-secret\rX: y\r\n\r\n")
        got = await client.answer()
    assert got.status == 400
    assert b"secret" not in got.head + got.body


async def test_smuggled_request(upstream: ScriptedUpstream) -> None:
    """A second request behind an ambiguous body reaches no server."""
    upstream.script = answer(response(b"ok"))
    smuggled = request("GET", "/smuggled")
    both = ((b"Content-Length", b"6"), CHUNKED)
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("POST", "/x", *both) + b"0\r\n\r\nX" + smuggled)
        assert (await client.answer()).status == 400
        assert await client.ended()
    assert upstream.requests == []


async def test_good_request_before_a_malformed_one(upstream: ScriptedUpstream) -> None:
    """What came before is still answered."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("GET", "/good"))
        assert (await client.answer()).body == b"ok"
        await client.send(b"garbage\r\n\r\n")
        assert (await client.answer()).error["code"] == "bad_request"
        assert await client.ended()


@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("backend", ["auto", "vllm"])
async def test_broken_chunks(
    upstream: ScriptedUpstream, backend: str, late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A request whose chunked body breaks HTTP gets a 400, and the server's connection ends."""
    upstream.script = answer(response(b"never"))
    async with running(upstream.url, backend=backend) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, CHUNKED) + chunk(b"hello"))
            if late:
                await asyncio.sleep(0.05)
            await client.send(b"xyz\r\n")
            got = await client.answer()
            assert got.status == 400
            assert got.error["code"] == "bad_request"
            assert await client.ended()
        await until(lambda: upstream.open == 0)
        metrics = await proxy.metrics()
        assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []
        assert metrics.by("requests_total", "code") == {"400": 1}
        assert metrics.by("upstream_failures_total", "reason") == {}
        await works(proxy, upstream)


async def test_broken_chunks_while_the_answer_streams(upstream: ScriptedUpstream) -> None:
    """An answer that has begun is broken off: no second head is written into it."""

    async def script(call: Call) -> None:
        await call.send(head("200 OK", EVENTS, CHUNKED), chunk(b"early"))
        await call.gone()

    upstream.script = script
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, CHUNKED) + chunk(b"hello"))
            await client.read_until(b"early\r\n")
            await client.send(b"xyz\r\n")
            assert await client.read_to_end() == b""
        await works(proxy, upstream)


@pytest.mark.parametrize("target", ["http://example.test/v1/models", "https://x.test", "x", "*x"])
async def test_forward_proxy(upstream: ScriptedUpstream, target: str) -> None:
    """A client that takes it for a forward proxy is told how to use it."""
    async with running(upstream.url) as proxy:
        got = await ask(proxy.url, "GET", target)
        metrics = await proxy.metrics()
    assert got.status == 400
    assert metrics.by("requests_total", "code") == {"400": 1}
    if "://" in target:
        assert got.error["code"] == "not_a_forward_proxy"
        assert "HTTP_PROXY" in got.error["message"]


async def test_connect(upstream: ScriptedUpstream) -> None:
    """CONNECT is refused, and no tunnel is made of what follows."""
    upstream.script = answer(response(b"never"))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(b"CONNECT example.test:443 HTTP/1.1\r\nHost: example.test:443\r\n\r\n")
        got = await client.answer()
        assert got.status == 400
        assert got.error["code"] == "not_a_forward_proxy"
    assert upstream.requests == []


WEBSOCKET: tuple[Field, ...] = (
    (b"Connection", b"Upgrade"),
    (b"Upgrade", b"WebSocket"),
    (b"Sec-WebSocket-Key", b"dGhlIHNhbXBsZSBub25jZQ=="),
    (b"Sec-WebSocket-Version", b"13"),
)


async def test_websocket(upstream: ScriptedUpstream) -> None:
    """A WebSocket is refused with 501, and the connection serves on."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("GET", "/v1/realtime", *WEBSOCKET))
        got = await client.answer()
        assert got.status == 501
        assert got.error["code"] == "no_websocket"
        await client.send(request("POST", CHAT, body=CHAT_BODY))
        assert (await client.answer()).body == b"ok"
        metrics = await proxy.metrics()
    assert metrics.by("requests_total", "code") == {"501": 1, "200": 1}


@pytest.mark.parametrize("version", ["0.9", "2.0"])
async def test_other_version(upstream: ScriptedUpstream, version: str) -> None:
    """A version that is neither 1.0 nor 1.1 is refused."""
    upstream.script = answer(response(b"never"))
    async with running(upstream.url) as proxy:
        got = await ask(proxy.url, "GET", "/x", version=version)
    assert got.status in (400, 505)
    assert "specmeter: " in got.error["message"]
    assert upstream.requests == []


async def test_half_closed_client(upstream: ScriptedUpstream) -> None:
    """A client that ends its side of the connection is taken for one that left."""
    left = asyncio.Event()

    async def script(call: Call) -> None:
        await call.body()
        await call.gone()
        left.set()

    upstream.script = script
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("GET", "/x"))
            await until(lambda: len(upstream.requests) == 1)
            client.shut()
            async with asyncio.timeout(1):
                await left.wait()
        metrics = await proxy.metrics()
    assert metrics.by("client_left_total", "endpoint") == {"other": 1}


async def test_slow_head(upstream: ScriptedUpstream) -> None:
    """A head that takes its time is waited for."""
    upstream.script = answer(response(b"ok"))
    whole = request("GET", "/x")
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(whole[:10])
        await asyncio.sleep(0.2)
        await client.send(whole[10:])
        assert (await client.answer()).body == b"ok"


async def test_nothing_at_all(upstream: ScriptedUpstream) -> None:
    """A connection on which nothing comes is no request."""
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url):
            await asyncio.sleep(0.02)
        metrics = await proxy.metrics()
    assert metrics.by("requests_total", "code") == {}
    assert metrics.by("client_left_total", "endpoint") == {}


async def test_half_a_head(upstream: ScriptedUpstream) -> None:
    """A client that leaves within its head has asked for nothing."""
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(b"POST /v1/chat/comp")
            await asyncio.sleep(0.02)
        metrics = await proxy.metrics()
    assert metrics.by("requests_total", "code") == {}


async def test_blank_lines_before_a_request(upstream: ScriptedUpstream) -> None:
    """Empty lines in front, as some clients send them, are skipped."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(b"\r\n\r\n" + request("GET", "/x"))
        assert (await client.answer()).body == b"ok"


async def test_coding_within_chunks(upstream: ScriptedUpstream) -> None:
    """A body that is compressed for the transfer is refused: its coding cannot be passed on."""
    upstream.script = answer(response(b"never"))
    coded: Field = (b"Transfer-Encoding", b"gzip, chunked")
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("POST", CHAT, coded) + chunk(b"\x1f\x8b") + chunk(b""))
        got = await client.answer()
    assert got.status in (400, 501)
    assert got.error["type"]
    assert upstream.requests == []
