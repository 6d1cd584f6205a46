"""A server that dies in the middle of what was added: the client sees nothing of that either."""

import pytest

from tests.answers import chunk as message
from tests.answers import event, last
from tests.gateway.client import CHAT, STREAM_BODY, Client, chat, request
from tests.gateway.proxy import running
from tests.scripted import (
    CHUNKED,
    EVENTS,
    JSON,
    ScriptedUpstream,
    answer,
    answer_and_close,
    chunk,
    head,
)

FIRST = event(message("hi", timings={"predicted_n": 1, "predicted_ms": 1.0}))
PLAIN_FIRST = event(message("hi"))
TIMED = event(message("x", timings={"predicted_n": 2, "predicted_ms": 2.0}))
PLAIN_SECOND = event(message("x"))
USAGE = event(last(usage={"prompt_tokens": 1, "completion_tokens": 2}))


@pytest.mark.parametrize("missing", range(1, len(TIMED) - 8, 7))
async def test_half_an_event_of_llama_cpp(upstream: ScriptedUpstream, missing: int) -> None:
    """Wherever it is cut, what comes is the beginning of what would have come without."""
    upstream.script = answer_and_close(
        head("200 OK", EVENTS, CHUNKED), chunk(FIRST + TIMED[:-missing])
    )
    async with running(upstream.url, backend="llama_cpp", meter_cancelled=True) as proxy:
        got = await chat(proxy.url, STREAM_BODY)
        assert got.body.startswith(PLAIN_FIRST)
        assert (PLAIN_FIRST + PLAIN_SECOND).startswith(got.body)
        assert not got.complete
        metrics = await proxy.metrics()
        assert metrics.by("upstream_failures_total", "reason") == {"broken_off": 1.0}


@pytest.mark.parametrize("missing", range(1, len(USAGE) - USAGE.index(b'"choices":[]') - 12, 7))
async def test_half_of_the_usage_chunk_of_vllm(upstream: ScriptedUpstream, missing: int) -> None:
    """It was asked for by us, so none of it passes."""
    upstream.script = answer_and_close(
        head("200 OK", EVENTS, CHUNKED), chunk(PLAIN_FIRST + USAGE[:-missing])
    )
    async with running(upstream.url, backend="vllm") as proxy:
        got = await chat(proxy.url, STREAM_BODY)
    assert got.body == PLAIN_FIRST
    assert not got.complete


@pytest.mark.parametrize("end", [b',"sglext', b',"sglext":', b',"sglext":{"spec_tokens', b""])
async def test_half_a_document_of_sglang(upstream: ScriptedUpstream, end: bytes) -> None:
    """It ends where the member that was added begins, at the latest."""
    begun = b'{"object":"chat.completion","model":"m","choices":[]'
    length = (b"Content-Length", b"900")
    upstream.script = answer_and_close(head("200 OK", JSON, length) + begun + end)
    async with running(upstream.url, backend="sglang") as proxy:
        got = await chat(proxy.url)
    assert got.body == begun
    assert not got.complete


@pytest.mark.parametrize("pieces", [1, 4])
async def test_a_head_that_is_too_long(upstream: ScriptedUpstream, pieces: int) -> None:
    """300 kB are refused, in however many pieces they come."""
    long = head("200 OK", (b"X-Long", b"x" * 300_000), (b"Content-Length", b"2")) + b"ok"
    size = len(long) // pieces + 1
    upstream.script = answer(*(long[at : at + size] for at in range(0, len(long), size)))
    async with running(upstream.url) as proxy, await Client.connect(proxy.url) as client:
        await client.send(request("GET", CHAT))
        assert (await client.read_until(b"\r\n")).startswith(b"HTTP/1.1 502")
