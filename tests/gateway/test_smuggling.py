"""Whatever a client sends, the server sees one request for each that the proxy took for one."""

from __future__ import annotations

import pytest

from tests.gateway.checks import works
from tests.gateway.client import CHAT, Client, request
from tests.gateway.proxy import running
from tests.scripted import (
    CHUNKED,
    Call,
    Field,
    ScriptedUpstream,
    answer,
    chunk,
    cut,
    response,
)

HOST = b"Host: proxy.test\r\n"
GET = b"GET /x HTTP/1.1\r\n" + HOST
POST = b"POST /x HTTP/1.1\r\n" + HOST
BY_CHUNKS = POST + b"Transfer-Encoding: chunked\r\n\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"


def framed(*lines: bytes, body: bytes = b"0\r\n\r\n") -> bytes:
    """Return a request with these headers."""
    return POST + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


REFUSED: dict[str, bytes] = {
    "length and chunks": framed(b"Content-Length: 4", b"Transfer-Encoding: chunked"),
    "chunks and length": framed(b"Transfer-Encoding: chunked", b"Content-Length: 4"),
    "two lengths": framed(b"Content-Length: 5", b"Content-Length: 0", body=b"hello"),
    "the same length twice": framed(b"Content-Length: 5", b"Content-Length: 5", body=b"hello"),
    "a list of lengths": framed(b"Content-Length: 5, 5", body=b"hello"),
    "an empty length": framed(b"Content-Length:", body=b"hello"),
    "a hexadecimal length": framed(b"Content-Length: 0x5", body=b"hello"),
    "a length with an underscore": framed(b"Content-Length: 1_0", body=b"hello"),
    "a length with a vertical tab": framed(b"Content-Length: \x0b5", body=b"hello"),
    "a length in other digits": framed(b"Content-Length: \xd9\xa5", body=b"hello"),
    "chunked twice": framed(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
    "chunked twice in a list": framed(b"Transfer-Encoding: chunked, chunked"),
    "chunked, then identity": framed(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"),
    "identity": framed(b"Transfer-Encoding: identity"),
    "an empty coding": framed(b"Transfer-Encoding:"),
    "a coding with a vertical tab": framed(b"Transfer-Encoding: \x0bchunked"),
    "a coding in quotes": framed(b'Transfer-Encoding: "chunked"'),
    "a coding with a parameter": framed(b"Transfer-Encoding: chunked;q=1"),
    "a coding with an empty one behind": framed(b"Transfer-Encoding: chunked,"),
    "chunks in HTTP/1.0": b"POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a folded coding": framed(b"Transfer-Encoding:\r\n chunked"),
    "a folded first header": b"GET /x HTTP/1.1\r\n Host: y\r\n\r\n",
    "a blank before the colon": framed(b"Transfer-Encoding : chunked"),
    "a tab before the colon": framed(b"Transfer-Encoding\t: chunked"),
    "an empty name": framed(b": chunked"),
    "bare LF between headers": framed(b"A: b\nTransfer-Encoding: chunked"),
    "bare CR between headers": framed(b"A: b\rTransfer-Encoding: chunked"),
    "bare LF behind the head": GET + b"\n",
    "bare LF throughout": b"GET /x HTTP/1.1\nHost: y\n\n",
    "CR CR LF": b"GET /x HTTP/1.1\r\r\n" + HOST + b"\r\n",
    "NUL in a header": GET + b"A: \x00\r\n\r\n",
    "a control character in a header": GET + b"A: \x01\r\n\r\n",
    "NUL in the target": b"GET /\x00 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tab in the target": b"GET /a\tb HTTP/1.1\r\n" + HOST + b"\r\n",
    "CR in the target": b"GET /a\rb HTTP/1.1\r\n" + HOST + b"\r\n",
    "a version in the target": b"GET /a HTTP/1.1 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a blank in front": b" GET /x HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tab behind the method": b"GET\t/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "a blank behind the version": b"GET /x HTTP/1.1 \r\n" + HOST + b"\r\n",
    "a version of three digits": b"GET /x HTTP/1.10\r\n" + HOST + b"\r\n",
    "a method in small letters": b"get /x HTTP/1.1\r\n" + HOST + b"\r\n",
    "a negative chunk": BY_CHUNKS + b"-5\r\n",
    "a chunk with a sign": BY_CHUNKS + b"+5\r\nhello\r\n0\r\n\r\n",
    "a chunk with a prefix": BY_CHUNKS + b"0x5\r\nhello\r\n0\r\n\r\n",
    "a chunk with a blank": BY_CHUNKS + b" 5\r\nhello\r\n0\r\n\r\n",
    "a chunk of no size": BY_CHUNKS + b"\r\nhello\r\n0\r\n\r\n",
    "a chunk of an extension": BY_CHUNKS + b";a=b\r\n0\r\n\r\n",
    "an endless chunk": BY_CHUNKS + b"fffffffffffffffff\r\nhello",
    "a chunk that is longer": BY_CHUNKS + b"5\r\nhelloXX\r\n0\r\n\r\n",
    "a chunk that ends with LF": BY_CHUNKS + b"5\r\nhello\n0\r\n\r\n",
    "a size that ends with LF": BY_CHUNKS + b"5\nhello\r\n0\r\n\r\n",
    "an extension that ends with LF": BY_CHUNKS + b"5;a\nb\r\nhello\r\n0\r\n\r\n",
    "an extension with CR": BY_CHUNKS + b"5;a\rb\r\nhello\r\n0\r\n\r\n",
    "an extension with CRLF in quotes": BY_CHUNKS + b'5;a="\r\nb"\r\nhello\r\n0\r\n\r\n',
    "a last chunk that ends with LF": BY_CHUNKS + b"0\r\n\n",
    "a trailer that is none": BY_CHUNKS + b"0\r\nA : b\r\n\r\n",
    "a trailer with a length": BY_CHUNKS + b"0\r\nContent-Length: 5\r\n\r\nhello",
    "a trailer with a coding": BY_CHUNKS + b"0\r\nTransfer-Encoding: chunked\r\n\r\n",
}


@pytest.mark.parametrize("how", ["whole", "bytes"])
@pytest.mark.parametrize("sent", REFUSED.values(), ids=REFUSED)
async def test_refused(upstream: ScriptedUpstream, sent: bytes, how: str) -> None:
    """What could be read in two ways gets a 400, and nothing behind it is taken for a request."""
    upstream.script = answer(response(b"never"))
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(*cut(sent, how), SMUGGLED)
            got = await client.answer()
            assert got.status == 400
            assert got.error["code"] == "bad_request"
            assert got.closes
            assert await client.ended()
        metrics = await proxy.metrics()
        assert metrics.by("requests_total", "code") == {"400": 1}
        assert [one for one in upstream.requests if one.target == b"/smuggled"] == []
        assert [one for one in upstream.requests if one.raw_body.endswith(b"0\r\n\r\n")] == []
        await works(proxy, upstream)


CODINGS: dict[str, tuple[Field, ...]] = {
    "gzip within": ((b"Transfer-Encoding", b"gzip, chunked"),),
    "gzip in a header of its own": ((b"Transfer-Encoding", b"gzip"), CHUNKED),
    "an empty one in front": ((b"Transfer-Encoding", b",chunked"),),
}


@pytest.mark.parametrize("fields", CODINGS.values(), ids=CODINGS)
async def test_other_codings(upstream: ScriptedUpstream, fields: tuple[Field, ...]) -> None:
    """A coding beside chunked is refused; what is behind it is a request of its own or none."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("POST", "/x", *fields) + b"5\r\nhello\r\n0\r\n\r\n")
        got = await client.answer()
    assert got.status == 501
    assert got.error["code"] == "transfer_coding"
    assert upstream.requests == []


TAKEN: dict[str, tuple[bytes, bytes]] = {
    "length": (framed(b"Content-Length: 5", body=b"hello"), b"hello"),
    "length with zeros": (framed(b"Content-Length: 005", body=b"hello"), b"hello"),
    "length with blanks": (framed(b"Content-Length: \t5 \t", body=b"hello"), b"hello"),
    "odd case": (framed(b"cOnTeNt-LeNgTh:5", body=b"hello"), b"hello"),
    "chunks": (BY_CHUNKS + b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
    "chunks in odd case": (framed(b"TRANSFER-encoding: ChUnKeD"), b""),
    "zeros in a size": (BY_CHUNKS + b"0005\r\nhello\r\n000\r\n\r\n", b"hello"),
    "extensions and trailers": (BY_CHUNKS + b"5;a=b\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", b"hello"),
    "a header like a coding": (framed(b"Transfer_Encoding: chunked", body=b""), b""),
    "an upgrade, with a length": (
        framed(b"Connection: Upgrade", b"Upgrade: h2c", b"Content-Length: 5", body=b"hello"),
        b"hello",
    ),
    "an upgrade, in chunks": (
        framed(
            *(b"Connection: Upgrade", b"Upgrade: h2c", b"Transfer-Encoding: chunked"),
            body=b"5\r\nhello\r\n0\r\n\r\n",
        ),
        b"hello",
    ),
    "a request as a body": (
        framed(b"Content-Length: %d" % len(SMUGGLED), body=SMUGGLED),
        SMUGGLED,
    ),
}


@pytest.mark.parametrize("how", ["whole", "random", "bytes"])
@pytest.mark.parametrize(("sent", "body"), TAKEN.values(), ids=TAKEN)
async def test_taken(upstream: ScriptedUpstream, sent: bytes, body: bytes, how: str) -> None:
    """What can be read in one way only arrives so, however it was cut, and so does the next."""
    upstream.script = answer(response(b"ok"))
    following = request("POST", CHAT, body=b"{}")
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(*cut(sent + sent + following, how))
        for _ in range(3):
            assert (await client.answer()).body == b"ok"
    assert [one.body for one in upstream.requests] == [body, body, b"{}"]
    assert [one.target for one in upstream.requests] == [b"/x", b"/x", CHAT.encode()]
    for one in upstream.requests:
        assert len(one.all(b"content-length")) + len(one.all(b"transfer-encoding")) <= 1
        assert one.all(b"x-t") == []


SPOILT: dict[str, bytes] = {
    "a sign": b"+5",
    "blanks within": b"5 5",
    "nothing": b"",
    "letters": b"5a",
    "more than a length has": b"9" * 30,
    "a second header": b"5\r\nContent-Length: 6",
    "chunks beside it": b"5\r\nTransfer-Encoding: chunked",
    "LF": b"5\n",
}


@pytest.mark.parametrize("digits", SPOILT.values(), ids=SPOILT)
async def test_like_the_last_head_but_for_a_bad_length(
    upstream: ScriptedUpstream, digits: bytes
) -> None:
    """A head that is known but for its length is looked at as strictly as any other."""
    upstream.script = answer(response(b"ok"))
    start, end = POST + b"A: b\r\nContent-Length: ", b"\r\nC: d\r\n\r\n"
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        for size in (5, 0, 11):
            await client.send(start + b"%d" % size + end + b"x" * size)
            assert (await client.answer()).body == b"ok"
        await client.send(start + digits + end + b"hello" + SMUGGLED)
        assert (await client.answer()).status == 400
        assert await client.ended()
    assert [one.body for one in upstream.requests] == [b"x" * 5, b"", b"x" * 11]


async def test_like_the_last_head_with_more_behind_it(upstream: ScriptedUpstream) -> None:
    """Requests that are alike keep their bodies, ids and order, also where one is in pieces."""

    async def echo(call: Call) -> None:
        await call.send(response(await call.body()))

    upstream.script = echo
    bodies = [b"%d" % number * number for number in range(1, 30)]
    sent = b"".join(request("POST", CHAT, (b"A", b"b"), body=body) for body in bodies)
    for how in ("whole", "random"):
        async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
            await client.send(*cut(sent, how, seed=len(how)))
            assert [(await client.answer()).body for _ in bodies] == bodies
    ids = [one.all(b"x-request-id")[0] for one in upstream.requests]
    assert len(set(ids)) == len(ids) == 2 * len(bodies)
    assert {one.all(b"a")[0] for one in upstream.requests} == {b"b"}


async def test_length_with_a_blank_is_never_taken_for_no_length(
    upstream: ScriptedUpstream,
) -> None:
    """A head whose length cannot be found the short way is read the long way each time."""
    upstream.script = answer(response(b"ok"))
    body = b"GET /smuggled HTTP/1.1\r\n\r\n"
    head = POST + b"Content-Length: %d \r\n\r\n" % len(body)
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        for _ in range(3):
            await client.send(head + body)
            assert (await client.answer()).body == b"ok"
    assert [one.body for one in upstream.requests] == [body] * 3


async def test_chunks_behind_a_known_head(upstream: ScriptedUpstream) -> None:
    """A request in chunks between requests with a length keeps its own framing."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        for _ in range(2):
            await client.send(request("POST", "/x", body=b"length"))
            await client.send(request("POST", "/x", CHUNKED) + chunk(b"chunks") + chunk(b""))
            await client.send(request("GET", "/x"))
            assert [(await client.answer()).status for _ in range(3)] == [200] * 3
    assert [one.body for one in upstream.requests] == [b"length", b"chunks", b""] * 2
