"""Responses of every framing reach the client as they were sent."""

from __future__ import annotations

import gzip
import random

import pytest

from tests.gateway.checks import works
from tests.gateway.client import CHAT, Answer, Client, ask, chat, request
from tests.gateway.proxy import running
from tests.scripted import (
    CHUNKED,
    EVENTS,
    JSON,
    Call,
    Field,
    ScriptedUpstream,
    answer,
    answer_and_close,
    chunk,
    chunked,
    cut,
    head,
    response,
)

LARGE = random.Random(1).randbytes(5_000_000)
PIECES = [b"one", b"two" * 1000, b"three"]


async def get(
    upstream: ScriptedUpstream, *pieces: bytes, version: str = "1.1", close: bool = False
) -> Answer:
    """Ask for a page that a server answers with these bytes."""
    upstream.script = answer_and_close(*pieces) if close else answer(*pieces)
    async with running(upstream.url) as proxy:
        return await ask(proxy.url, "GET", "/page", version=version)


async def test_length(upstream: ScriptedUpstream) -> None:
    """A body with a length keeps it."""
    got = await get(upstream, response(b"hello"))
    assert got.all(b"content-length") == [b"5"]
    assert got.all(b"transfer-encoding") == []
    assert got.body == b"hello"
    assert not got.closes


async def test_no_body(upstream: ScriptedUpstream) -> None:
    """A length of 0 is one too."""
    got = await get(upstream, response(b""))
    assert got.all(b"content-length") == [b"0"]
    assert not got.closes


async def test_same_length_twice(upstream: ScriptedUpstream) -> None:
    """A length that is said twice is passed on once."""
    twice = ((b"Content-Length", b"5"), (b"Content-Length", b"5"))
    got = await get(upstream, head("200 OK", *twice) + b"hello")
    assert got.all(b"content-length") == [b"5"]
    assert got.body == b"hello"


async def test_chunks_stay_as_they_are(upstream: ScriptedUpstream) -> None:
    """The server's own chunks go to the client, and the connection stays open."""
    framed = chunked(PIECES)
    got = await get(upstream, head("200 OK", CHUNKED), *framed)
    assert got.raw == b"".join(framed)
    assert got.body == b"".join(PIECES)
    assert not got.closes


@pytest.mark.parametrize("how", ["bytes", "random", "whole"])
async def test_chunk_extensions_and_trailers(upstream: ScriptedUpstream, how: str) -> None:
    """Extensions and trailers are no part of the body, however they are cut."""
    raw = (
        b'5;name=value;quoted="a;b"\r\nhello\r\n'
        b"00000a  ;x\r\n0123456789\r\n"
        b"0;last\r\nX-Checksum: abc\r\nX-Other: \r\n\r\n"
    )
    got = await get(upstream, head("200 OK", CHUNKED), *cut(raw, how))
    assert got.raw == raw
    assert got.body == b"hello0123456789"


async def test_chunk_sizes_in_capitals(upstream: ScriptedUpstream) -> None:
    """Hexadecimal digits come in both cases."""
    raw = b"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"
    got = await get(upstream, head("200 OK", (b"TRANSFER-ENCODING", b"Chunked")), raw)
    assert got.body == b"0123456789" * 2


async def test_ended_by_closing(upstream: ScriptedUpstream) -> None:
    """Without length and chunks the body ends with the connection, the client's too."""
    got = await get(upstream, head("200 OK"), *PIECES, close=True)
    assert got.complete
    assert got.closes
    assert got.raw == b"".join(PIECES)


@pytest.mark.parametrize("length", [b"1234", None])
async def test_head_request(upstream: ScriptedUpstream, length: bytes | None) -> None:
    """The answer to HEAD has no body whatever it announces, and the next request follows."""
    announced: Field = CHUNKED if length is None else (b"Content-Length", length)
    upstream.scripts["/head"] = answer(head("200 OK", announced))
    upstream.scripts["/get"] = answer(response(b"next"))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("HEAD", "/head"))
        first = await client.answer("HEAD")
        assert first.all(b"content-length") == ([length] if length else [])
        await client.send(request("GET", "/get"))
        assert (await client.answer()).body == b"next"
    assert upstream.requests[0].method == b"HEAD"


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
@pytest.mark.parametrize("length", [None, b"1234"])
async def test_status_without_a_body(
    upstream: ScriptedUpstream, status: str, length: bytes | None
) -> None:
    """204 and 304 have no body, and neither side waits for one."""
    fields = ((b"ETag", b'"x"'), *([(b"Content-Length", length)] if length else []))
    upstream.scripts["/empty"] = answer(head(status, *fields))
    upstream.scripts["/get"] = answer(response(b"next"))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        for _ in range(2):
            await client.send(request("GET", "/empty"))
            got = await client.answer()
            assert got.head.split(b"\r\n")[0] == f"HTTP/1.1 {status}".encode()
            assert got.all(b"etag") == [b'"x"']
            await client.send(request("GET", "/get"))
            assert (await client.answer()).body == b"next"


async def test_interim_answers(upstream: ScriptedUpstream) -> None:
    """What comes before the answer proper is not taken for it."""
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    for pieces in ([early + response(b"ok")], [early, response(b"ok")], cut(early, "bytes")):
        upstream.script = answer(*pieces, *([] if b"ok" in pieces[-1] else [response(b"ok")]))
        async with running(upstream.url) as proxy:
            got = await ask(proxy.url, "GET", "/page")
        assert got.status == 200
        assert got.body == b"ok"


async def test_head_in_single_bytes(upstream: ScriptedUpstream) -> None:
    """A head may come in any pieces."""
    got = await get(upstream, *cut(response(b"hello"), "bytes"))
    assert got.body == b"hello"


async def test_statuses_and_reasons(upstream: ScriptedUpstream) -> None:
    """Status and reason are the server's, unusual ones too."""
    for status in ("201 Created", "299 Odd", "418 I'm a teapot", "200 ", "599 \xc3\xa4"):
        got = await get(upstream, response(b"", status))
        assert got.head.split(b"\r\n")[0] == f"HTTP/1.1 {status}".encode()


async def test_no_reason_at_all(upstream: ScriptedUpstream) -> None:
    """A status line may end with the status."""
    got = await get(upstream, b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok")
    assert (got.status, got.body) == (200, b"ok")


FIELDS: tuple[Field, ...] = (
    (b"server", b"llama.cpp"),
    (b"SET-COOKIE", b"a=1; Path=/"),
    (b"X-Between", b'with: colon, comma; \t and "quotes"'),
    (b"Set-Cookie", b"b=2"),
    (b"content-Type", b"text/plain; charset=utf-8"),
    (b"X-Empty", b""),
    (b"x-latin", b"\xe4\xff"),
    (b"cOntent-lEngth", b"2"),
    (b"X-Accel-Buffering", b"no"),
    (b"WWW-Authenticate", b"Bearer"),
    (b"Via", b"1.1 other"),
)


async def test_headers_stay_as_they_are(upstream: ScriptedUpstream) -> None:
    """Order, case, repetition and odd values of headers are the server's."""
    got = await get(upstream, head("200 OK", *FIELDS) + b"ok")
    assert [item for item in got.fields if item[0] != b"x-request-id"] == list(FIELDS)


async def test_headers_of_the_connection_are_dropped(upstream: ScriptedUpstream) -> None:
    """Hop-by-hop headers, and those that Connection names, end at the proxy."""
    fields = (
        (b"Connection", b"keep-alive, X-Private"),
        (b"connection", b"x-also"),
        (b"Keep-Alive", b"timeout=5"),
        (b"X-Private", b"1"),
        (b"X-Also", b"1"),
        (b"Upgrade", b"h2c"),
        (b"Proxy-Authenticate", b"Basic"),
        (b"Proxy-Connection", b"keep-alive"),
        (b"Trailer", b"X-Checksum"),
        (b"TE", b"trailers"),
        (b"X-Stays", b"1"),
    )
    got = await get(upstream, head("200 OK", *fields, (b"Content-Length", b"0")))
    names = {name.lower() for name, _ in got.fields}
    assert names == {b"x-stays", b"content-length", b"x-request-id"}


async def test_length_holds_whatever_connection_says(upstream: ScriptedUpstream) -> None:
    """A server cannot talk the proxy into an answer without framing."""
    named = ((b"Connection", b"content-length"), (b"Content-Length", b"2"))
    got = await get(upstream, head("200 OK", *named) + b"ok")
    assert got.all(b"content-length") == [b"2"]
    assert got.body == b"ok"


async def test_closing_server_does_not_close_the_client(upstream: ScriptedUpstream) -> None:
    """`Connection: close` of a server is no matter of the client's."""
    upstream.script = answer_and_close(response(b"ok", "200 OK", (b"Connection", b"close")))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        for _ in range(3):
            await client.send(request("GET", "/page"))
            got = await client.answer()
            assert got.body == b"ok"
            assert not got.closes
    assert upstream.connections == 3


async def test_old_server(upstream: ScriptedUpstream) -> None:
    """A server that speaks HTTP/1.0 is understood."""
    got = await get(upstream, b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold", close=True)
    assert got.body == b"old"


async def test_connections_are_used_again(upstream: ScriptedUpstream) -> None:
    """Answers that leave a connection fit for it share one."""
    upstream.scripts = {
        "/length": answer(response(b"x" * 1000)),
        "/chunked": answer(head("200 OK", CHUNKED), *chunked(PIECES)),
        "/empty": answer(head("204 No Content")),
        "/early": answer(b"HTTP/1.1 100 Continue\r\n\r\n" + response(b"")),
    }
    async with running(upstream.url) as proxy:
        before = upstream.connections
        for path in (*upstream.scripts, *upstream.scripts):
            assert (await ask(proxy.url, "GET", path)).complete
        assert (await ask(proxy.url, "POST", "/length", body=b"x" * 100_000)).complete
    assert upstream.connections == before + 1


async def test_the_connection_of_a_stream_is_not_used_again(upstream: ScriptedUpstream) -> None:
    """llama.cpp closes after a stream unannounced, and what meets the closing is lost."""
    upstream.script = answer(head("200 OK", EVENTS, CHUNKED), *chunked(PIECES))
    async with running(upstream.url) as proxy:
        before = upstream.connections
        for _ in range(3):
            assert (await ask(proxy.url, "POST", CHAT, body=b"{}")).complete
    assert upstream.connections >= before + 2


async def test_bytes_behind_the_answer(upstream: ScriptedUpstream) -> None:
    """What a server sends behind its answer reaches no client, this one or the next."""
    upstream.script = answer(response(b"ok") + response(b"injected"))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        for _ in range(2):
            await client.send(request("GET", "/page"))
            assert (await client.answer()).body == b"ok"
    assert upstream.connections == 2


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
async def test_large_download(upstream: ScriptedUpstream, framing: str) -> None:
    """5 MB arrive byte for byte."""
    pieces = cut(LARGE, "whole") if framing == "length" else cut(LARGE[:500_000], "random")
    body = b"".join(pieces)
    if framing == "length":
        got = await get(upstream, response(body))
    elif framing == "chunked":
        got = await get(upstream, head("200 OK", CHUNKED), *chunked([*pieces, LARGE]))
        body += LARGE
    else:
        got = await get(upstream, head("200 OK"), *pieces, LARGE, close=True)
        body += LARGE
    assert got.complete
    assert got.body == body


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
async def test_old_client(upstream: ScriptedUpstream, framing: str) -> None:
    """A client of HTTP/1.0 gets no chunks."""
    pieces = {
        "length": (response(b"".join(PIECES)),),
        "chunked": (head("200 OK", CHUNKED), *chunked(PIECES)),
        "close": (head("200 OK"), *PIECES),
    }[framing]
    got = await get(upstream, *pieces, version="1.0", close=framing == "close")
    assert got.complete
    assert got.closes
    assert got.raw == b"".join(PIECES)
    assert got.all(b"transfer-encoding") == []


async def test_old_client_keeps_its_connection(upstream: ScriptedUpstream) -> None:
    """A client of HTTP/1.0 that asks for it may send another request."""
    upstream.script = answer(response(b"ok"))
    keep: Field = (b"Connection", b"keep-alive")
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        for _ in range(2):
            await client.send(request("GET", "/page", keep, version="1.0"))
            got = await client.answer()
            assert got.all(b"connection") == [b"keep-alive"]
            assert got.body == b"ok"


async def test_client_that_closes(upstream: ScriptedUpstream) -> None:
    """`Connection: close` of a client ends its connection after the answer, not the server's."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url) as proxy:
        before = upstream.connections
        for _ in range(2):
            async with await Client.connect(proxy.url) as client:
                await client.send(request("GET", "/page", (b"Connection", b"close")))
                assert (await client.answer()).closes
                assert await client.ended()
    assert upstream.connections == before + 1


async def test_compressed_page(upstream: ScriptedUpstream) -> None:
    """A page that is compressed passes as it is."""
    page = gzip.compress(b"<html>" * 1000)
    got = await get(upstream, response(page, "200 OK", (b"Content-Encoding", b"gzip")))
    assert got.all(b"content-encoding") == [b"gzip"]
    assert got.body == page


async def test_compressed_completion(upstream: ScriptedUpstream) -> None:
    """A completion that is compressed in spite of all passes, and is counted as unread."""
    body = gzip.compress(b'{"usage":{"completion_tokens":1}}')
    upstream.script = answer(response(body, "200 OK", JSON, (b"Content-Encoding", b"gzip")))
    async with running(upstream.url) as proxy:
        got = await chat(proxy.url)
        metrics = await proxy.metrics()
    assert got.body == body
    assert metrics.by("unread_completions_total", "reason") == {"compressed": 1}


async def test_pages_are_not_metered(upstream: ScriptedUpstream) -> None:
    """What is no completion is passed on and counted as a request, no more."""
    upstream.script = answer(response(b'{"usage":{"completion_tokens":5}}'))
    async with running(upstream.url) as proxy:
        for method, target in (("GET", CHAT), ("POST", "/tokenize"), ("PUT", "/x/y")):
            body = b"{}" if method != "GET" else None
            assert (await ask(proxy.url, method, target, body=body)).status == 200
        metrics = await proxy.metrics()
    assert metrics.by("completions_total", "speculation") == {}
    assert metrics.by("requests_total", "endpoint") == {CHAT: 1, "/tokenize": 1, "other": 1}


async def test_answer_before_the_request_is_through(upstream: ScriptedUpstream) -> None:
    """A server that answers without reading the body, and closes, is heard."""

    async def script(call: Call) -> None:
        await call.send(response(b'{"error":"too large"}', "413 Too Large"))
        call.close()

    upstream.script = script
    async with running(upstream.url) as proxy:
        got = await ask(proxy.url, "POST", "/upload", body=LARGE)
        assert got.status == 413
        assert got.body == b'{"error":"too large"}'
        await works(proxy, upstream)


async def test_answer_while_the_request_is_coming(upstream: ScriptedUpstream) -> None:
    """An answer may stream while the request's body still does."""

    async def script(call: Call) -> None:
        await call.send(head("200 OK", EVENTS, CHUNKED), chunk(b"early"))
        assert await call.body() == b"onetwo"
        await call.send(chunk(b"late"), b"0\r\n\r\n")

    upstream.script = script
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("POST", "/both", CHUNKED), chunk(b"one"))
        await client.read_until(b"early\r\n")
        await client.send(chunk(b"two"), b"0\r\n\r\n")
        assert (await client.read_until(b"0\r\n\r\n")).endswith(b"4\r\nlate\r\n0\r\n\r\n")
        upstream.script = answer(response(b"next"))
        await client.send(request("GET", "/next"))
        assert (await client.answer()).body == b"next"
