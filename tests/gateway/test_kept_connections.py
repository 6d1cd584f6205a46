"""Connections to a server are kept for a while, and used again only where that is safe."""

from __future__ import annotations

import asyncio

import pytest

from tests.gateway.checks import counted, told
from tests.gateway.client import ask, chat
from tests.gateway.proxy import running, until
from tests.scripted import (
    Call,
    ScriptedUpstream,
    answer,
    answer_and_close,
    response,
)


async def test_stale_connection(upstream: ScriptedUpstream) -> None:
    """GET is repeated where a kept connection was just being closed, and nobody is told."""
    await stale(upstream, "GET")
    assert [one.method for one in upstream.requests] == [b"GET", b"GET", b"GET"]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
async def test_stale_connection_of_other_safe_methods(
    upstream: ScriptedUpstream, method: str
) -> None:
    """So are HEAD and OPTIONS."""
    await stale(upstream, method)


async def stale(upstream: ScriptedUpstream, method: str) -> None:
    """Ask on a connection that the server closes when it gets a second request."""
    upstream.script = once_a_connection
    async with running(upstream.url) as proxy:
        assert (await ask(proxy.url, "GET", "/first")).status == 200
        got = await ask(proxy.url, method, "/second")
        assert got.status == 200
        metrics = await proxy.metrics()
    assert metrics.by("upstream_failures_total", "reason") == {}
    assert metrics.by("requests_total", "code") == {"200": 2}


async def once_a_connection(call: Call) -> None:
    """Answer the first request of a connection, and close on the second."""
    await call.body()
    if hasattr(call._writer, "used"):
        call.close()
        return
    call._writer.used = True  # type: ignore[attr-defined]
    answered = response(b"ok")
    await call.send(answered[:-2] if call.request.method == b"HEAD" else answered)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_post_is_never_repeated(upstream: ScriptedUpstream, method: str) -> None:
    """What may have an effect is sent once: the client is told, and decides."""
    upstream.script = once_a_connection
    async with running(upstream.url) as proxy:
        assert (await ask(proxy.url, "GET", "/first")).status == 200
        got = await ask(proxy.url, method, "/second", body=b"{}")
        told(got, upstream.url, 502, "closed_early")
    assert len(upstream.requests) == 2


async def test_get_with_a_body_is_never_repeated(upstream: ScriptedUpstream) -> None:
    """Its body is gone by then."""
    upstream.script = once_a_connection
    async with running(upstream.url) as proxy:
        assert (await ask(proxy.url, "GET", "/first")).status == 200
        assert (await ask(proxy.url, "GET", "/second", body=b"{}")).status == 502
    assert len(upstream.requests) == 2


async def test_get_is_repeated_once_at_most(upstream: ScriptedUpstream) -> None:
    """A server that closes on every connection is not asked forever."""
    upstream.scripts["/second"] = answer_and_close()
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url) as proxy:
        assert (await ask(proxy.url, "GET", "/first")).status == 200
        got = await ask(proxy.url, "GET", "/second")
        told(got, upstream.url, 502, "closed_early")
        await counted(proxy, 502, "closed_early", "other")
    assert [one.target for one in upstream.requests] == [b"/first", b"/second", b"/second"]


async def test_kept_connection_that_the_server_closed(upstream: ScriptedUpstream) -> None:
    """A connection that was closed while idle is not used: POST works at once."""
    upstream.script = answer_and_close(response(b"ok"))
    async with running(upstream.url) as proxy:
        for _ in range(5):
            assert (await chat(proxy.url)).body == b"ok"
            await asyncio.sleep(0.02)


async def test_kept_connection_that_talks(upstream: ScriptedUpstream) -> None:
    """A connection on which the server speaks unasked is not used again."""

    async def script(call: Call) -> None:
        await answer(response(b"ok"))(call)
        await asyncio.sleep(0.02)
        await call.send(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")

    upstream.script = script
    async with running(upstream.url) as proxy:
        for _ in range(3):
            assert (await chat(proxy.url)).body == b"ok"
            await asyncio.sleep(0.05)
    assert upstream.connections == 3


async def test_keepalive_seconds(upstream: ScriptedUpstream) -> None:
    """A connection is closed once it was idle for `keepalive_seconds`."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url, keepalive_seconds=0.2) as proxy:
        assert (await chat(proxy.url)).body == b"ok"
        await until(lambda: upstream.open == 0, seconds=2)
        assert (await chat(proxy.url)).body == b"ok"
