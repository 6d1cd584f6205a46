"""Requests reach the server as the client sent them."""

from __future__ import annotations

import random

import pytest

from tests.gateway.client import CHAT, CHAT_BODY, Client, ask, chat, request
from tests.gateway.proxy import running
from tests.scripted import (
    CHUNKED,
    Call,
    Field,
    ScriptedUpstream,
    answer,
    chunk,
    chunked,
    cut,
    head,
    response,
)

LARGE = random.Random(2).randbytes(5_000_000)


@pytest.fixture
def server(upstream: ScriptedUpstream) -> ScriptedUpstream:
    upstream.script = answer(response(b"ok"))
    return upstream


TARGETS = [
    b"/",
    b"/a%2Fb?x=%20&y=%C3%BC",
    b"/a//b/../c/./d",
    b"/%zz%",
    b"/?",
    b"/x?a=1&a=2&&=&b",
    b'/x?q="quoted"|{}[]\\^`<>',
    b"/v1/chat/completions?api-version=2",
    b"/x;params?y;z",
    b"//evil.test/path",
    b"/x?url=http://evil.test/",
    b"/" + b"x" * 8000,
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: repr(target[:20]))
@pytest.mark.parametrize("prefix", ["", "/some/prefix"])
async def test_target_is_verbatim(server: ScriptedUpstream, target: bytes, prefix: str) -> None:
    """Path and query go out as they came, behind the prefix of the server's URL."""
    async with running(server.url + prefix) as proxy:
        got = await ask(proxy.url, "GET", target)
    assert got.status == 200
    assert server.requests[0].target == prefix.encode() + target


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"])
async def test_method_is_verbatim(server: ScriptedUpstream, method: str) -> None:
    """Methods pass, unusual ones too; what has no body gets none."""
    async with running(server.url) as proxy:
        assert (await ask(proxy.url, method, "/x")).status == 200
    assert server.requests[0].method == method.encode()
    assert server.requests[0].all(b"content-length") == []
    assert server.requests[0].all(b"transfer-encoding") == []


FIELDS: tuple[Field, ...] = (
    (b"authorization", b"Bearer sk-secret"),
    (b"X-REPEATED", b"1"),
    (b"Accept", b"*/*"),
    (b"x-Repeated", b"2"),
    (b"Cookie", b"a=1; b=2"),
    (b"X-Empty", b""),
    (b"X-Latin", b"\xe4\xff"),
    (b"X-Odd", b'with: colon, \t and "quotes"'),
    (b"Accept-Encoding", b"gzip, br"),
    (b"User-Agent", b"test"),
    (b"Origin", b"http://x.test"),
    (b"Content-Type", b"application/json"),
    (b"OpenAI-Organization", b"org"),
)


async def test_headers_stay_as_they_are(server: ScriptedUpstream) -> None:
    """Order, case, repetition and odd values of headers are the client's, the key included."""
    async with running(server.url) as proxy:
        await ask(proxy.url, "POST", "/tokenize", *FIELDS, body=b"{}")
    added = {b"host", b"content-length", b"x-request-id"}
    kept = [item for item in server.requests[0].fields if item[0].lower() not in added]
    assert kept == list(FIELDS)
    assert server.requests[0].all(b"host") == [server.url.removeprefix("http://").encode()]
    assert server.requests[0].all(b"content-length") == [b"2"]


async def test_headers_of_the_connection_are_dropped(server: ScriptedUpstream) -> None:
    """Hop-by-hop headers, and those that Connection names, end at the proxy."""
    fields = (
        (b"Connection", b"keep-alive, X-Private"),
        (b"Connection", b"x-also"),
        (b"Keep-Alive", b"timeout=5"),
        (b"X-Private", b"1"),
        (b"X-Also", b"1"),
        (b"Proxy-Authorization", b"Basic x"),
        (b"Proxy-Connection", b"keep-alive"),
        (b"TE", b"trailers"),
        (b"X-Stays", b"1"),
    )
    async with running(server.url) as proxy:
        await ask(proxy.url, "GET", "/x", *fields)
    names = {name.lower() for name, _ in server.requests[0].fields}
    assert names == {b"x-stays", b"host", b"x-request-id"}


async def test_length_and_host_hold_whatever_connection_says(server: ScriptedUpstream) -> None:
    """A client cannot talk the proxy into a request without framing or host."""
    named: Field = (b"Connection", b"content-length, host, x-request-id")
    async with running(server.url) as proxy:
        await chat(proxy.url, CHAT_BODY, named)
    assert server.requests[0].body == CHAT_BODY
    assert len(server.requests[0].all(b"host")) == 1


async def test_no_compression_on_metered_paths(server: ScriptedUpstream) -> None:
    """Only where the answer is read is the server asked not to compress it."""
    accept: Field = (b"Accept-Encoding", b"gzip")
    async with running(server.url) as proxy:
        await chat(proxy.url, CHAT_BODY, accept)
        await ask(proxy.url, "GET", CHAT, accept)
        await ask(proxy.url, "GET", "/index.html", accept)
        await ask(proxy.url, "GET", "/index.html")
    got = [one.all(b"accept-encoding") for one in server.requests]
    assert got == [[b"identity"], [b"gzip"], [b"gzip"], []]


async def test_request_id_is_kept_or_made(server: ScriptedUpstream) -> None:
    """The client's id goes both ways; without one, one is made and goes both ways."""
    async with running(server.url) as proxy:
        kept = await ask(proxy.url, "GET", "/x", (b"X-Request-ID", b"my-id"))
        first = await ask(proxy.url, "GET", "/x")
        second = await ask(proxy.url, "GET", "/x", (b"X-Request-ID", b""))
    ids = [one.all(b"x-request-id") for one in server.requests]
    assert ids[0] == kept.all(b"x-request-id") == [b"my-id"]
    assert ids[1] == first.all(b"x-request-id")
    assert ids[2] == second.all(b"x-request-id")
    assert len(ids[1][0]) == len(ids[2][0]) == 32
    assert ids[1] != ids[2]


async def test_request_id_of_the_server_wins(upstream: ScriptedUpstream) -> None:
    """A server that gives an id of its own is not contradicted."""
    upstream.script = answer(response(b"", "200 OK", (b"X-Request-Id", b"theirs")))
    async with running(upstream.url) as proxy:
        got = await ask(proxy.url, "GET", "/x", (b"x-request-id", b"mine"))
    assert got.all(b"x-request-id") == [b"theirs"]


async def test_odd_request_id(server: ScriptedUpstream) -> None:
    """An id in no known character set passes both ways, and spoils no answer of specmeter's own."""
    odd = b"\xff\xfe \xc3\xbc"
    async with running(server.url) as proxy:
        got = await ask(proxy.url, "GET", "/x", (b"x-request-id", odd))
        refused = await ask(proxy.url, "GET", "http://x.test/", (b"x-request-id", odd))
    assert got.all(b"x-request-id") == server.requests[0].all(b"x-request-id") == [odd]
    assert refused.status == 400
    assert refused.error["code"] == "not_a_forward_proxy"


@pytest.mark.parametrize("how", ["length", "whole", "random", "bytes"])
async def test_large_upload(server: ScriptedUpstream, how: str) -> None:
    """5 MB arrive byte for byte, with a length or in chunks."""
    async with running(server.url) as proxy, await Client.connect(proxy.url) as client:
        if how == "length":
            body = LARGE
            await client.send(request("POST", "/upload", body=LARGE))
        else:
            body = LARGE[:2000] if how == "bytes" else LARGE
            pieces = [*cut(body[:100_000], how), body[100_000:]]
            await client.send(request("POST", "/upload", CHUNKED), *chunked(pieces))
        assert (await client.answer()).status == 200
    assert server.requests[0].body == body
    framed = server.requests[0].all(b"transfer-encoding") == [b"chunked"]
    assert framed == (how != "length")


async def test_empty_bodies(server: ScriptedUpstream) -> None:
    """A body of no bytes is announced as such, with a length or in chunks."""
    async with running(server.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("POST", "/x", body=b""))
        assert (await client.answer()).status == 200
        await client.send(request("POST", "/x", CHUNKED), b"0\r\n\r\n")
        assert (await client.answer()).status == 200
    assert server.requests[0].all(b"content-length") == [b"0"]
    assert [one.body for one in server.requests] == [b"", b""]


async def test_chunk_extensions_and_trailers_of_a_request(server: ScriptedUpstream) -> None:
    """Extensions and trailers of a request are no part of its body."""
    raw = b"5;a=b\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n"
    async with running(server.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("POST", "/x", CHUNKED), raw)
        assert (await client.answer()).status == 200
    assert server.requests[0].body == b"hello"


async def test_body_in_single_bytes(server: ScriptedUpstream) -> None:
    """Head and body may come in any pieces."""
    async with running(server.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(*cut(request("POST", CHAT, body=CHAT_BODY), "bytes"))
        assert (await client.answer()).status == 200
    assert server.requests[0].body == CHAT_BODY


async def test_compressed_request_passes(server: ScriptedUpstream) -> None:
    """A body with a coding of its own is not touched."""
    async with running(server.url) as proxy:
        await ask(proxy.url, "POST", "/x", (b"Content-Encoding", b"gzip"), body=b"\x1f\x8bnot gzip")
    assert server.requests[0].body == b"\x1f\x8bnot gzip"
    assert server.requests[0].all(b"content-encoding") == [b"gzip"]


async def test_client_that_waits_for_leave_to_send(server: ScriptedUpstream) -> None:
    """`Expect: 100-continue` is answered by the proxy and goes no further."""
    expect: Field = (b"Expect", b"100-continue")
    async with running(server.url) as proxy, await Client.connect(proxy.url) as client:
        announced = request("POST", CHAT, expect, (b"Content-Length", b"5"))
        await client.send(announced)
        assert await client.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(b"hello")
        assert (await client.answer()).status == 200
        # A client that does not wait is not made to.
        await client.send(announced + b"again")
        got = await client.answer()
        assert got.status == 200
    assert [one.body for one in server.requests] == [b"hello", b"again"]
    assert [one.all(b"expect") for one in server.requests] == [[], []]


async def test_keep_alive(server: ScriptedUpstream) -> None:
    """One connection carries many requests, with bodies and without."""
    async with running(server.url) as proxy, await Client.connect(proxy.url) as client:
        for number in range(5):
            await client.send(request("POST", f"/{number}", body=b"x" * number * 40_000))
            assert (await client.answer()).body == b"ok"
            await client.send(request("GET", f"/{number}"))
            assert (await client.answer()).body == b"ok"
    assert [len(one.body) for one in server.requests[::2]] == [0, 40_000, 80_000, 120_000, 160_000]


async def test_pipelined_requests(upstream: ScriptedUpstream) -> None:
    """Requests sent without waiting are answered in order, each with its own answer."""

    async def echo(call: Call) -> None:
        body = await call.body()
        if len(upstream.requests) % 2:
            await call.send(response(call.request.target + body))
        else:
            await call.send(head("200 OK", CHUNKED), chunk(call.request.target + body), chunk(b""))

    upstream.script = echo
    wanted, sent = [], b""
    for number in range(20):
        body = b"body %d" % number if number % 3 else None
        sent += request("POST" if body else "GET", f"/{number}", body=body)
        wanted.append(b"/%d" % number + (body or b""))
    for how in ("whole", "random"):
        async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
            await client.send(*cut(sent, how))
            got = [(await client.answer()).body for _ in wanted]
        assert got == wanted


async def test_refused_upgrade_to_http2(server: ScriptedUpstream) -> None:
    """A client that offers HTTP/2 on the side (Java's does) is answered in HTTP/1.1."""
    offer = (
        (b"Connection", b"Upgrade, HTTP2-Settings"),
        (b"Upgrade", b"h2c"),
        (b"HTTP2-Settings", b"AAMAAABkAAQ"),
    )
    async with running(server.url) as proxy, await Client.connect(proxy.url) as client:
        for _ in range(2):
            await client.send(request("POST", CHAT, *offer, body=CHAT_BODY))
            assert (await client.answer()).body == b"ok"
    assert [one.body for one in server.requests] == [CHAT_BODY, CHAT_BODY]
    names = {name.lower() for name, _ in server.requests[0].fields}
    assert names.isdisjoint({b"upgrade", b"http2-settings", b"connection"})
