"""A server that compresses although it is asked not to: nothing can be read, or taken out."""

from __future__ import annotations

import asyncio
import gzip
import logging
from typing import Any

import orjson
import pytest

from specmeter.config import Upstream as UpstreamSettings
from specmeter.gateway import forward
from specmeter.gateway.exchange import Exchange
from specmeter.upstream.upstreams import Upstream
from tests.answers import DONE, chunk, event, last
from tests.gateway.client import CHAT, CHAT_BODY, STREAM_BODY, Answer, Client, chat, request
from tests.gateway.proxy import Proxy, running, until
from tests.scripted import (
    EVENTS,
    JSON,
    Call,
    Field,
    ScriptedUpstream,
    answer,
    event_stream,
    head,
    response,
)

GZIP: Field = (b"Content-Encoding", b"gzip")
CONTENT = event(chunk("hi"))
USAGE = event(last(usage={"prompt_tokens": 1, "completion_tokens": 2}))


async def compressing_vllm(call: Call) -> None:
    """Stream as vLLM does, usage only where it is asked for, and compress it all."""
    asked = orjson.loads(await call.body()).get("stream_options", {})
    text = CONTENT + (USAGE if asked.get("include_usage") else b"") + DONE
    body = gzip.compress(text)
    await call.send(response(body, "200 OK", EVENTS, GZIP))


async def streamed(proxy: Proxy) -> Answer:
    got = await chat(proxy.url, STREAM_BODY)
    assert got.status == 200
    assert got.complete
    assert got.all(b"content-encoding") == [b"gzip"]
    return got


async def test_a_stream_to_which_something_was_added(
    upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """Only the first one has the addition; then nothing is asked any more, and the log says so."""
    upstream.script = compressing_vllm
    with caplog.at_level(logging.WARNING, "specmeter"):
        async with running(upstream.url, backend="vllm") as proxy:
            first = await streamed(proxy)
            assert gzip.decompress(first.body) == CONTENT + USAGE + DONE
            for _ in range(3):
                assert gzip.decompress((await streamed(proxy)).body) == CONTENT + DONE
            metrics = await proxy.metrics()
    assert metrics.by("unread_completions_total", "reason") == {"compressed": 4}
    assert metrics.by("requests_total", "code") == {"200": 4}
    assert metrics.by("completions_total", "speculation") == {}
    assert b"include_usage" in upstream.requests[0].body
    assert [one.body for one in upstream.requests[1:]] == [STREAM_BODY] * 3
    told = [one.getMessage() for one in caplog.records if "compresses" in one.getMessage()]
    assert len(told) == 1
    assert "Turn its compression off" in told[0]


async def test_a_document_to_which_nothing_was_added(upstream: ScriptedUpstream) -> None:
    """It is counted as compressed, and streams that are not are still asked for usage."""
    body = gzip.compress(b'{"usage":{"completion_tokens":3}}')
    upstream.script = answer(response(body, "200 OK", JSON, GZIP))
    async with running(upstream.url, backend="vllm") as proxy:
        assert (await chat(proxy.url, CHAT_BODY)).body == body
        upstream.script = event_stream(CONTENT, USAGE, DONE)
        assert (await chat(proxy.url, STREAM_BODY)).body == CONTENT + DONE
        metrics = await proxy.metrics()
    assert metrics.by("unread_completions_total", "reason") == {"compressed": 1}
    assert metrics.total("generated_tokens_total") == 2


async def test_a_client_that_leaves_a_compressed_stream(upstream: ScriptedUpstream) -> None:
    """It is counted as one that left, and nothing is held for it."""

    async def script(call: Call) -> None:
        await call.body()
        await call.send(head("200 OK", EVENTS, GZIP, (b"Content-Length", b"999")) + b"\x1f\x8b")
        await call.gone()

    upstream.script = script
    async with running(upstream.url, backend="vllm") as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            await client.read_until(b"\x1f\x8b")
        metrics = await proxy.metrics()
    assert metrics.by("client_left_total", "endpoint") == {CHAT: 1}


async def test_a_large_request_is_not_added_to(upstream: ScriptedUpstream) -> None:
    """Beyond `body_bytes` a request goes out as it came, so its stream has no usage to count."""
    upstream.script = event_stream(CONTENT, DONE)
    body = STREAM_BODY[:-1] + b',"x":"' + b"x" * 20_000 + b'"}'
    async with running(upstream.url, backend="vllm", body_bytes=10_000) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=body)[:-100])
            await until(lambda: len(upstream.requests) == 1)  # it does not wait for the rest
            await client.send(body[-100:])
            assert (await client.answer()).body == CONTENT + DONE
        metrics = await proxy.metrics()
    assert upstream.requests[0].body == body
    assert metrics.by("unread_completions_total", "reason") == {"no_numbers": 1}


async def test_a_request_leaves_its_server_once() -> None:
    """Whatever goes wrong when it ends, it is not counted off twice."""
    loop = asyncio.get_running_loop()
    upstream = Upstream(UpstreamSettings(url="http://127.0.0.1:1"), loop)
    nobody: Any = None
    first, other = (
        forward.Call(
            *(nobody, nobody, nobody),
            exchange=Exchange(CHAT, completion=True, received_at=loop.time()),
            keep_alive=True,
        )
        for _ in range(2)
    )
    forward.enter(other, upstream)
    forward.enter(first, upstream)
    assert upstream.load.under_way == 2
    forward.leave(first, upstream)
    in_flight = first.exchange.in_flight
    forward.leave(first, upstream)
    assert upstream.load.under_way == 1
    assert first.exchange.in_flight == in_flight
    forward.leave(other, upstream)
    assert upstream.load.under_way == 0
    upstream.pool.close()
