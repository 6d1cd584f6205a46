"""A client is waited for, but not forever, and it takes no more room than it is given."""

from __future__ import annotations

import asyncio
import time

import pytest

from specmeter.gateway.incoming import MAX_FIELD_BYTES, MAX_FIELDS
from specmeter.gateway.server import ClientPatience
from tests.gateway.checks import works
from tests.gateway.client import CHAT, CHAT_BODY, STREAM_BODY, Client, request
from tests.gateway.proxy import running, until
from tests.scripted import CHUNKED, Call, Gate, ScriptedUpstream, answer, chunk, response

BRIEF = ClientPatience(head=0.3, idle=0.3, end=0.3)
HASTY = ClientPatience(head=0.3)
SOON = 2.0
"""Seconds within which what is overdue has ended, on a busy machine too."""


@pytest.mark.parametrize("drips", [False, True], ids=["stops", "drips"])
async def test_slow_head(upstream: ScriptedUpstream, drips: bool) -> None:
    """A head that does not get done is given up, whether its client is silent or drips."""

    async def drip(client: Client) -> None:
        while True:
            await client.send(b"x")
            await asyncio.sleep(0.02)

    async with running(upstream.url, patience=HASTY) as proxy:
        async with await Client.connect(proxy.url) as client:
            began = time.monotonic()
            await client.send(b"POST /v1/chat/completions HTTP/1.1\r\nA: ")
            dripping = asyncio.create_task(drip(client)) if drips else None
            got = await client.answer()
            assert 0.3 <= time.monotonic() - began < SOON
            if dripping is not None:
                dripping.cancel()
            assert got.status == 408
            assert "0.3 s" in got.error["message"]
            assert got.closes
            assert await client.ended()
        metrics = await proxy.metrics()
        assert metrics.by("requests_total", "code") == {"408": 1}
        await works(proxy, upstream)


async def test_slow_head_of_a_later_request(upstream: ScriptedUpstream) -> None:
    """So is the head of a request on a connection that was used before."""
    upstream.script = answer(response(b"ok"))
    async with (
        running(upstream.url, patience=HASTY) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, body=CHAT_BODY) + b"GET /x HT")
        assert (await client.answer()).body == b"ok"
        assert (await client.answer()).status == 408
        assert await client.ended()


async def test_slow_body_is_waited_for(upstream: ScriptedUpstream) -> None:
    """Once the head is there, its body may take longer than a head."""
    upstream.script = answer(response(b"ok"))
    async with (
        running(upstream.url, patience=BRIEF) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, body=CHAT_BODY)[:-10])
        await asyncio.sleep(0.6)
        await client.send(CHAT_BODY[-10:])
        assert (await client.answer()).body == b"ok"


async def test_slow_answer_is_waited_for(upstream: ScriptedUpstream) -> None:
    """A connection on which an answer is awaited is not idle."""
    upstream.script = gate = Gate()
    async with (
        running(upstream.url, patience=BRIEF) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, body=STREAM_BODY))
        await client.read_until(b"data: 1\n\n")
        await asyncio.sleep(0.6)
        gate.open.set()
        await client.read_until(b"data: 2\n\n")


@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
async def test_idle_connection_is_closed(upstream: ScriptedUpstream, used: bool) -> None:
    """A connection on which no request comes is closed without a word."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url, patience=BRIEF) as proxy:
        async with await Client.connect(proxy.url) as client:
            if used:
                await client.send(request("GET", "/x"))
                assert (await client.answer()).body == b"ok"
            async with asyncio.timeout(SOON):
                assert await client.ended()
        metrics = await proxy.metrics()
        assert metrics.by("requests_total", "code") == ({"200": 1} if used else {})


async def test_head_without_end(upstream: ScriptedUpstream) -> None:
    """A head that never ends is refused before it has taken much room."""
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            line = b"A: " + b"x" * 60_000
            await client.send(b"GET / HTTP/1.1\r\n", *([line + b"\r\n"] * 5))
            got = await client.answer()
            assert got.status == 400
            assert "bytes of headers" in got.error["message"]
            assert await client.ended()
        await works(proxy, upstream)


@pytest.mark.parametrize("what", ["extension", "trailers"])
async def test_framing_without_end(upstream: ScriptedUpstream, what: str) -> None:
    """An extension or trailers without end are no way round the limit."""
    upstream.script = answer(response(b"never"))
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", "/x", CHUNKED))
            await until(lambda: len(upstream.requests) == 1)
            if what == "extension":
                await client.send(b"5;a", *([b"x" * 60_000] * 5))
            else:
                await client.send(b"0\r\n", *([b"A: " + b"x" * 60_000 + b"\r\n"] * 5))
            assert (await client.answer()).status == 400
            assert await client.ended()
        await works(proxy, upstream)


async def test_limits_are_met(upstream: ScriptedUpstream) -> None:
    """As many headers as are allowed, and one as long as is allowed, pass."""
    upstream.script = answer(response(b"ok"))
    long = (b"X-Long", b"x" * (MAX_FIELD_BYTES - 6))
    many = [(b"X-%d" % number, b"y") for number in range(MAX_FIELDS - 2)]
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("GET", "/x", long, *many))
        assert (await client.answer()).body == b"ok"
        await client.send(request("GET", "/x", long, *many, (b"X-More", b"z")))
        got = await client.answer()
        assert got.status == 400
        assert f"{MAX_FIELDS} headers" in got.error["message"]
    assert len(upstream.requests) == 1


async def test_large_head_behind_another_request(upstream: ScriptedUpstream) -> None:
    """The limit holds for a request that came together with one before it."""
    upstream.script = answer(response(b"ok"))
    large = request("GET", "/large", (b"X-Long", b"x" * (MAX_FIELD_BYTES + 1)))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("GET", "/x") + large)
        assert (await client.answer()).body == b"ok"
        assert (await client.answer()).status == 400
    assert [one.target for one in upstream.requests] == [b"/x"]


async def test_refused_upload_reads_its_answer(upstream: ScriptedUpstream) -> None:
    """A client that is refused in the middle of a large upload still gets to read why."""
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        size = 3_000_000
        length = (b"Content-Length", b"%d" % size)
        await client.send(request("POST", "http://elsewhere.test/x", length))
        await client.send(*[b"x" * 100_000] * (size // 100_000))
        got = await client.answer()
        assert got.status == 400
        assert got.error["code"] == "not_a_forward_proxy"
        assert got.closes
        assert await client.ended()
    assert upstream.requests == []


async def test_refused_client_that_does_not_leave(upstream: ScriptedUpstream) -> None:
    """One that does not close after that is not kept."""
    async with (
        running(upstream.url, patience=BRIEF) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(b"garbage\r\n\r\n")
        assert (await client.answer()).status == 400
        await until(lambda: not proxy.front.server.connections, seconds=SOON)


async def test_many_requests_without_waiting(upstream: ScriptedUpstream) -> None:
    """A client that sends far ahead gets all answers, in order, and nobody else waits for it."""
    upstream.script = answer(response(b"ok"))
    count = 2000
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        sending = asyncio.create_task(
            client.send(
                *(request("GET", f"/{number}", (b"A", b"x" * 200)) for number in range(count))
            )
        )
        await works(proxy, upstream)
        upstream.script = answer(response(b"ok"))
        for _ in range(count):
            assert (await client.answer()).status == 200
        await sending
    targets = [one.target for one in upstream.requests if one.method == b"GET"]
    assert targets == [b"/%d" % number for number in range(count)]


async def test_requests_sent_ahead_do_not_pile_up(upstream: ScriptedUpstream) -> None:
    """Of a client that sends far ahead the proxy takes a little more than it can answer."""
    upstream.script = answer(response(b"ok"))
    count, most = 12_000, [0]
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:

        async def follow() -> None:
            while True:
                for one in proxy.front.server.connections:
                    most[0] = max(most[0], len(one._parser.requests))
                await asyncio.sleep(0)

        following = asyncio.create_task(follow())
        sending = asyncio.create_task(client.send(request("GET", "/x") * count))
        for _ in range(count // 10):
            assert (await client.answer()).status == 200
        following.cancel()
        sending.cancel()
        one_read = 256 * 1024 // len(request("GET", "/x"))
        assert 0 < most[0] <= one_read + 17
        client.reset()


async def test_leaves_among_requests_sent_ahead(upstream: ScriptedUpstream) -> None:
    """A client that leaves while its first request is answered has sent the others for nothing."""
    upstream.script = Gate()
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=STREAM_BODY) * 3)
            await client.read_until(b"data: 1\n\n")
        await until(lambda: upstream.open == 0)
        metrics = await proxy.metrics()
    assert metrics.by("client_left_total", "endpoint") == {CHAT: 1}
    assert len(upstream.requests) == 1


async def test_last_request_is_the_last(upstream: ScriptedUpstream) -> None:
    """What comes behind a request that closes the connection is not answered."""
    upstream.script = answer(response(b"ok"))
    last = request("POST", CHAT, (b"Connection", b"close"), body=CHAT_BODY)
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(last + request("GET", "/behind"))
        got = await client.answer()
        assert got.body == b"ok"
        assert got.closes
        assert await client.ended()
    assert [one.target for one in upstream.requests] == [CHAT.encode()]


async def test_early_answer_to_an_upload(upstream: ScriptedUpstream) -> None:
    """A server that answers before it has read everything is heard; the connection ends."""

    async def script(call: Call) -> None:
        await call.send(response(b"too large", "413 Content Too Large"))
        await call.gone()

    upstream.script = script
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("POST", "/x", CHUNKED) + chunk(b"x" * 1000))
        got = await client.answer()
        assert (got.status, got.body) == (413, b"too large")
        assert await client.ended()
