"""Whatever a server does wrong: the client is told, it is counted, and the next request works."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.gateway.checks import counted, told, works
from tests.gateway.client import CHAT, CHAT_BODY, Client, ask, chat, request
from tests.gateway.proxy import running, until
from tests.ports import closed_port
from tests.scripted import (
    CHUNKED,
    EVENTS,
    Call,
    Script,
    ScriptedUpstream,
    answer,
    answer_and_close,
    answer_and_reset,
    chunk,
    head,
    response,
    then_hang,
)

LENGTH_9 = (b"Content-Length", b"9")


NO_ANSWER: dict[str, tuple[Script, str]] = {
    "closes at once": (answer_and_close(), "closed_early"),
    "closes within the head": (answer_and_close(b"HTTP/1.1 200 OK\r\nConte"), "closed_early"),
    "closes after an interim answer": (
        answer_and_close(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        "closed_early",
    ),
    "resets": (answer_and_reset(), "closed_early"),
    "resets within the head": (answer_and_reset(b"HTTP/1.1 200 OK\r\n"), "closed_early"),
    "is no HTTP": (then_hang(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "protocol"),
    "is HTTP/2": (then_hang(b"HTTP/2.0 200 OK\r\n\r\n"), "protocol"),
    "no status": (then_hang(b"HTTP/1.1 OK\r\n\r\n"), "protocol"),
    "status of four digits": (then_hang(b"HTTP/1.1 2000 OK\r\n\r\n"), "protocol"),
    "malformed header": (then_hang(head("200 OK", (b"Bad Name", b"x"))), "protocol"),
    "header without a colon": (then_hang(b"HTTP/1.1 200 OK\r\nnothing\r\n\r\n"), "protocol"),
    "folded header": (then_hang(b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"), "protocol"),
    "header with a bare CR": (then_hang(b"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n"), "protocol"),
    "header with a NUL": (then_hang(b"HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n"), "protocol"),
    "two lengths": (
        then_hang(head("200 OK", LENGTH_9, (b"Content-Length", b"8")) + b"x" * 9),
        "protocol",
    ),
    "list of lengths": (then_hang(head("200 OK", (b"Content-Length", b"9, 9"))), "protocol"),
    "negative length": (then_hang(head("200 OK", (b"Content-Length", b"-1"))), "protocol"),
    "length with a sign": (then_hang(head("200 OK", (b"Content-Length", b"+9"))), "protocol"),
    "absurd length": (then_hang(head("200 OK", (b"Content-Length", b"9" * 40))), "protocol"),
    "empty length": (then_hang(head("200 OK", (b"Content-Length", b""))), "protocol"),
    "unknown coding": (then_hang(head("200 OK", (b"Transfer-Encoding", b"gzip"))), "protocol"),
    "two codings": (
        then_hang(head("200 OK", (b"Transfer-Encoding", b"gzip, chunked"))),
        "protocol",
    ),
    "chunked twice": (then_hang(head("200 OK", CHUNKED, CHUNKED)), "protocol"),
    "switches protocols": (then_hang(b"HTTP/1.1 101 Switching\r\n\r\n"), "protocol"),
    "endless head": (then_hang(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 50_000), "protocol"),
    "endless line": (then_hang(b"HTTP/1.1 200 " + b"x" * 300_000), "protocol"),
    "endless interim answers": (
        then_hang(b"HTTP/1.1 103 Early\r\n\r\n" * 20 + b"X" * 300_000),
        "protocol",
    ),
}


@pytest.mark.parametrize(("script", "reason"), NO_ANSWER.values(), ids=NO_ANSWER)
async def test_no_answer(upstream: ScriptedUpstream, script: Script, reason: str) -> None:
    """Without a usable head the client gets an error that names server, fault and remedy."""
    upstream.script = script
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("POST", CHAT, body=CHAT_BODY))
        got = await client.answer()
        told(got, upstream.url, 502, reason)
        await counted(proxy, 502, reason)
        assert not got.closes
        upstream.script = answer(response(b"next"))
        await client.send(request("GET", "/next"))  # on the same connection
        assert (await client.answer()).body == b"next"
        await works(proxy, upstream)


BROKEN_OFF: dict[str, tuple[Script, str, bytes]] = {
    "length": (answer_and_close(head("200 OK", EVENTS, LENGTH_9) + b"part"), "broken_off", b"part"),
    "length, nothing of it": (answer_and_close(head("200 OK", LENGTH_9)), "broken_off", b""),
    "length, reset": (
        answer_and_reset(head("200 OK", LENGTH_9) + b"part"),
        "broken_off",
        b"part",
    ),
    "chunks": (
        answer_and_close(head("200 OK", EVENTS, CHUNKED), chunk(b"part")),
        "broken_off",
        b"part",
    ),
    "within a chunk": (
        answer_and_close(head("200 OK", EVENTS, CHUNKED), b"9\r\npart"),
        "broken_off",
        b"part",
    ),
    "before the last line": (
        answer_and_close(head("200 OK", EVENTS, CHUNKED), chunk(b"part"), b"0\r\n"),
        "broken_off",
        b"part",
    ),
    "chunks, reset": (
        answer_and_reset(head("200 OK", EVENTS, CHUNKED), chunk(b"part")),
        "broken_off",
        b"part",
    ),
    "bad chunk size": (
        then_hang(head("200 OK", EVENTS, CHUNKED), chunk(b"part"), b"xyz\r\n"),
        "protocol",
        b"part",
    ),
    "huge chunk size": (
        then_hang(head("200 OK", EVENTS, CHUNKED), chunk(b"part"), b"f" * 20 + b"\r\n"),
        "protocol",
        b"part",
    ),
    "chunk without an end": (
        then_hang(head("200 OK", EVENTS, CHUNKED), chunk(b"part"), b"4\r\nmoreXX"),
        "protocol",
        b"partmore",
    ),
    "bad chunk size, all at once": (
        then_hang(head("200 OK", EVENTS, CHUNKED) + chunk(b"part") + b"xyz\r\n"),
        "protocol",
        b"part",
    ),
    "chunk without an end, in one piece with the one before": (
        then_hang(head("200 OK", EVENTS, CHUNKED), chunk(b"part") + b"4\r\nmoreXX"),
        "protocol",
        b"partmore",
    ),
    "size line with a bare LF": (
        then_hang(head("200 OK", EVENTS, CHUNKED), chunk(b"part"), b"4\npart\r\n"),
        "protocol",
        b"part",
    ),
    "endless size line": (
        then_hang(head("200 OK", EVENTS, CHUNKED), chunk(b"part"), b"4;" + b"x" * 40_000),
        "protocol",
        b"part",
    ),
}


@pytest.mark.parametrize(("script", "reason", "body"), BROKEN_OFF.values(), ids=BROKEN_OFF)
@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_broken_off(
    upstream: ScriptedUpstream, version: str, script: Script, reason: str, body: bytes
) -> None:
    """An answer that breaks off breaks off for the client: no clean end, nothing lost before."""
    upstream.script = script
    async with running(upstream.url) as proxy:
        got = await ask(proxy.url, "POST", CHAT, body=CHAT_BODY, version=version)
        assert got.status == 200
        assert not got.complete
        assert got.body == body
        await counted(proxy, 200, reason)
        await works(proxy, upstream)


async def test_reset_of_an_answer_that_closing_ends(upstream: ScriptedUpstream) -> None:
    """A body that ends with the connection, and is reset instead, is reset for the client."""
    upstream.script = answer_and_reset(head("200 OK", EVENTS), b"part")
    async with running(upstream.url) as proxy:
        got = await chat(proxy.url)
        assert not got.complete
        assert got.body == b"part"
        await counted(proxy, 200, "broken_off")


async def test_both_framings(upstream: ScriptedUpstream) -> None:
    """Chunks win over a length, the length goes no further, and the connection is not kept."""
    both = head("200 OK", (b"Content-Length", b"3"), CHUNKED) + chunk(b"hello") + chunk(b"")
    upstream.script = answer(both)
    async with running(upstream.url) as proxy:
        for _ in range(2):
            got = await ask(proxy.url, "GET", "/x")
            assert got.all(b"content-length") == []
            assert got.body == b"hello"
    assert upstream.connections == 2


async def test_refused() -> None:
    """Where nobody listens, the client is told so."""
    with closed_port() as port:
        url = f"http://127.0.0.1:{port}"
        async with running(url) as proxy:
            got = await chat(proxy.url)
            told(got, url, 502, "cannot_connect")
            assert "connection refused" in got.error["message"]
            await counted(proxy, 502, "cannot_connect")


async def test_refused_large_upload() -> None:
    """A client that is still sending is told as well."""
    with closed_port() as port:
        url = f"http://127.0.0.1:{port}"
        async with running(url) as proxy:
            got = await ask(proxy.url, "POST", CHAT, body=b"x" * 5_000_000)
            told(got, url, 502, "cannot_connect")


async def test_name_that_does_not_exist() -> None:
    """A host name that nobody knows is told as such."""
    url = "http://no-such-host.invalid:1234"
    async with running(url) as proxy:
        got = await chat(proxy.url)
        told(got, url, 502, "cannot_connect")


async def test_connect_timeout() -> None:
    """A server whose queue is full is given up after `connect_seconds`."""
    async with (
        full_queue() as url,
        # The probe waits as long as a test may; it is not waited for here.
        running(url, connect_seconds=0.2, wait_for_probe=False) as proxy,
    ):
        got = await chat(proxy.url)
        told(got, url, 504, "connect_timeout")
        assert "0.2 s" in got.error["message"]
        await counted(proxy, 504, "connect_timeout")


async def test_client_that_leaves_while_connecting() -> None:
    """A client that leaves before the server has taken the connection is no fault of the server."""
    async with full_queue() as url, running(url, wait_for_probe=False) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=CHAT_BODY))
            await until(lambda: proxy.front.gateway.under_way == 1)
        await until(lambda: proxy.front.gateway.under_way == 0, seconds=1)
        metrics = await proxy.metrics()
    assert metrics.by("client_left_total", "endpoint") == {CHAT: 1}
    assert metrics.by("requests_total", "code") == {"499": 1}
    assert metrics.by("upstream_failures_total", "reason") == {}


@asynccontextmanager
async def full_queue() -> AsyncIterator[str]:
    """Give the URL of a server that takes no connection, and whose queue is full."""
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen(0)
        waiting = []
        try:
            while True:
                one = socket.socket()
                one.setblocking(False)
                waiting.append(one)
                try:
                    async with asyncio.timeout(0.2):
                        await asyncio.get_running_loop().sock_connect(one, busy.getsockname())
                except TimeoutError:
                    break
            yield f"http://127.0.0.1:{busy.getsockname()[1]}"
        finally:
            for one in waiting:
                one.close()


@pytest.mark.parametrize("settings", [{"backend": "auto"}, {"backend": "vllm"}])
async def test_many_at_once(upstream: ScriptedUpstream, settings: dict[str, Any]) -> None:
    """Faults of some requests do not touch those beside them."""

    async def script(call: Call) -> None:
        body = await call.body()
        if b'"good"' in body:
            await call.send(head("200 OK", EVENTS, CHUNKED))
            for _ in range(5):
                await asyncio.sleep(0.005)
                await call.send(chunk(b"data: {}\n\n"))
            await call.send(chunk(b""))
        else:
            call.reset()

    upstream.script = script
    good, bad = b'{"model":"good","stream":true}', b'{"model":"bad","stream":true}'
    async with running(upstream.url, **settings) as proxy:
        got = await asyncio.gather(*(chat(proxy.url, body) for body in (good, bad) * 20))
        metrics = await proxy.metrics()
    assert all(one.complete and one.body == b"data: {}\n\n" * 5 for one in got[::2])
    assert {one.status for one in got[1::2]} == {502}
    assert metrics.by("upstream_failures_total", "reason") == {"closed_early": 20}
