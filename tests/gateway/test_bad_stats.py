"""Whatever numbers an answer holds: it passes as it is, and nothing untrue is counted."""

from __future__ import annotations

import json
import logging
import math

import pytest

from specmeter.fault import Fault
from specmeter.gateway.exchange import Exchange
from tests.gateway.client import CHAT, chat
from tests.gateway.proxy import Metrics, running
from tests.replay import capture
from tests.scripted import (
    CHUNKED,
    JSON,
    ScriptedUpstream,
    answer,
    answer_and_close,
    chunked,
    cut,
    event_stream,
    head,
    response,
)

MANY = 1e9
"""More than this no counter may say after a single completion."""


def sane(metrics: Metrics) -> None:
    """No number is negative, infinite, no number at all, or absurd."""
    for sample in metrics.samples:
        if sample.name.startswith("process_") or sample.name.endswith("_timestamp_seconds"):
            continue
        assert math.isfinite(sample.value), sample
        assert 0 <= sample.value < MANY, sample


def timings(**more: object) -> bytes:
    """A completion of llama.cpp; keywords add and replace numbers."""
    numbers = {"prompt_n": 5, "cache_n": 0, "predicted_n": 10, "predicted_ms": 100.0, **more}
    return json.dumps({"model": "m", "choices": [{"index": 0}], "timings": numbers}).encode()


UNREAD: dict[str, tuple[bytes, str]] = {
    "broken JSON": (b'{"choices":[{"timings":{"predicted_n":1', "not_json"),
    "empty body": (b"", "not_json"),
    "no JSON": (b"hello", "not_json"),
    "a list": (b"[1,2,3]", "no_numbers"),
    "an empty list": (b"[]", "no_numbers"),
    "a number": (b"5", "no_numbers"),
    "null": (b"null", "no_numbers"),
    "no UTF-8": (b'{"timings":{},"x":"\xff"}', "not_json"),
    "NaN": (b'{"timings":{"predicted_n":NaN}}', "not_json"),
    "Infinity": (b'{"timings":{"predicted_n":Infinity}}', "not_json"),
    "beyond doubles": (b'{"timings":{"predicted_n":1e400}}', "not_json"),
    "very deep": (b"[" * 3000 + b"]" * 3000, "not_json"),
    "timings null": (b'{"timings":null}', "no_numbers"),
    "timings a list": (b'{"timings":[1]}', "no_numbers"),
    "usage text": (b'{"usage":"none"}', "no_numbers"),
    "an error with 200": (b'{"error":{"message":"x"}}', "error_event"),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("body", "reason"), UNREAD.values(), ids=UNREAD)
async def test_unread(
    upstream: ScriptedUpstream,
    body: bytes,
    reason: str,
    streamed: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An answer without numbers passes byte for byte and is counted as unread, with its reason."""
    sent = b"data: " + body + b"\n\ndata: [DONE]\n\n" if streamed else body
    upstream.script = event_stream(*cut(sent, "random")) if streamed else answer(response(body))
    async with running(upstream.url) as proxy:
        with caplog.at_level(logging.ERROR):
            got = await chat(proxy.url)
            metrics = await proxy.metrics()
        assert got.body == sent
        assert caplog.records == []
        if streamed and b"{" not in body:
            reason = "no_numbers"  # of a stream only what may be an object is parsed
        assert metrics.by("unread_completions_total", "reason") == {reason: 1}
        assert metrics.by("completions_total", "speculation") == {}
        sane(metrics)


INCONSISTENT: dict[str, tuple[bytes, str, str]] = {
    "negative": (timings(predicted_n=-5), "negative", "not_drafted"),
    "negative draft": (timings(draft_n=-5, draft_n_accepted=0), "negative", "not_reported"),
    "text": (timings(draft_n="9", draft_n_accepted="9"), "wrong_type", "not_reported"),
    "a switch": (timings(draft_n=True, draft_n_accepted=True), "wrong_type", "not_reported"),
    "a list": (timings(draft_n=[1], draft_n_accepted={}), "wrong_type", "not_reported"),
    "a fraction": (timings(draft_n=9.5, draft_n_accepted=9), "wrong_type", "not_reported"),
    "absurd": (timings(predicted_n=10**18), "too_large", "not_drafted"),
    "absurd draft": (
        timings(draft_n=10**30, draft_n_accepted=1),
        "too_large",
        "not_reported",
    ),
    "absurd time": (timings(predicted_ms=1e300), "too_large", "not_drafted"),
    "negative time": (timings(predicted_ms=-1.0), "negative", "not_drafted"),
    "time in words": (timings(predicted_ms="fast"), "wrong_type", "not_drafted"),
    "more accepted than drafted": (
        timings(draft_n=4, draft_n_accepted=5),
        "accepted_exceeds_drafted",
        "not_reported",
    ),
    "half reported": (timings(draft_n=4), "half_reported", "not_reported"),
    "other half reported": (timings(draft_n_accepted=4), "half_reported", "not_reported"),
    "more accepted than generated": (
        timings(draft_n=64, draft_n_accepted=22),
        "accepted_not_below_generated",
        "drafted",
    ),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("body", "reason", "state"), INCONSISTENT.values(), ids=INCONSISTENT)
async def test_inconsistent(
    upstream: ScriptedUpstream, body: bytes, reason: str, state: str, streamed: bool
) -> None:
    """A number that cannot be true is left out, and the completion is counted as inconsistent."""
    sent = b"data: " + body + b"\n\ndata: [DONE]\n\n" if streamed else body
    upstream.script = event_stream(*cut(sent, "random")) if streamed else answer(response(body))
    async with running(upstream.url) as proxy:
        got = await chat(proxy.url)
        metrics = await proxy.metrics()
    assert got.body == sent
    assert metrics.by("inconsistent_completions_total", "reason") == {reason: 1}
    assert metrics.by("completions_total", "speculation") == {state: 1}
    sane(metrics)


def vllm(**more: object) -> bytes:
    """A completion of vLLM; keywords replace numbers."""
    numbers = {
        "num_spec_steps": 8,
        "num_accepted_draft_tokens": 27,
        "num_draft_tokens": 32,
        "acceptance_histogram": [1, 0, 0, 1, 6],
        **more,
    }
    usage = {"prompt_tokens": 72, "completion_tokens": 48}
    return json.dumps({"usage": usage, "metrics": {"speculative_decoding": numbers}}).encode()


@pytest.mark.parametrize(
    "body",
    [
        vllm(acceptance_histogram=[-1, 0, 0, 1, 6]),
        vllm(acceptance_histogram=[1, 0, 0, 1, 10**20]),
        vllm(acceptance_histogram=["1", 0]),
        vllm(acceptance_histogram={"0": 1}),
        vllm(acceptance_histogram=[1] * 100_000),
        vllm(num_spec_steps=-1),
        vllm(num_spec_steps=0),
        vllm(num_accepted_draft_tokens=None),
        vllm(num_draft_tokens="x", num_spec_steps=[]),
    ],
)
async def test_inconsistent_rounds(upstream: ScriptedUpstream, body: bytes) -> None:
    """What vLLM reports beyond the two sums is checked as well."""
    upstream.script = answer(response(body))
    async with running(upstream.url, backend="vllm") as proxy:
        got = await chat(proxy.url)
        metrics = await proxy.metrics()
    assert got.body == body
    counted = metrics.by("inconsistent_completions_total", "reason")
    assert sum(counted.values()) >= 1
    assert metrics.total("generated_tokens_total") == 48
    assert len(metrics.by("spec_decode_num_accepted_tokens_per_pos_total", "position")) <= 16
    sane(metrics)


@pytest.mark.parametrize("how", ["length", "chunks", "close"])
async def test_body_past_the_limit(upstream: ScriptedUpstream, how: str) -> None:
    """A body of 9 MB passes whole and is counted as too large."""
    body = b'{"x":"' + b"x" * 9_000_000 + b'",' + timings()[1:]
    if how == "length":
        upstream.script = answer(response(body))
    elif how == "chunks":
        upstream.script = answer(head("200 OK", JSON, CHUNKED), *chunked([body]))
    else:
        upstream.script = answer_and_close(head("200 OK", JSON), body)
    async with running(upstream.url) as proxy:
        got = await chat(proxy.url)
        metrics = await proxy.metrics()
    assert got.complete
    assert got.body == body
    assert metrics.by("unread_completions_total", "reason") == {"too_large": 1}
    sane(metrics)


async def test_body_just_within_the_limit(upstream: ScriptedUpstream) -> None:
    """A body of exactly `body_bytes` is read."""
    body = timings(draft_n=6, draft_n_accepted=6)
    body += b" " * (10_000 - len(body))
    upstream.script = answer(response(body))
    async with running(upstream.url, body_bytes=10_000) as proxy:
        assert (await chat(proxy.url)).body == body
        metrics = await proxy.metrics()
    assert metrics.by("unread_completions_total", "reason") == {}
    assert metrics.total("generated_tokens_total") == 10


@pytest.mark.parametrize("how", ["random", "whole"])
async def test_long_stream(upstream: ScriptedUpstream, how: str) -> None:
    """A stream far longer than what is kept of it is read all the same."""
    event = b'data: {"choices":[{"index":0,"delta":{"content":"' + b"x" * 200 + b'"}}]}\n\n'
    stream = event * 2000 + capture("llama_cpp/ngram-mod/chat_stop_word").body
    upstream.script = event_stream(*cut(stream, how))
    async with running(upstream.url, event_bytes=4096) as proxy:
        got = await chat(proxy.url)
        metrics = await proxy.metrics()
    assert got.body == stream
    assert metrics.by("unread_completions_total", "reason") == {}
    assert metrics.total("generated_tokens_total") == 10
    assert metrics.total("spec_decode_num_draft_tokens_total") == 64


async def test_numbers_far_before_the_end(upstream: ScriptedUpstream) -> None:
    """Whatever follows them, they are kept: one stream ends far behind another's numbers."""
    event = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    stream = capture("llama_cpp/ngram-mod/chat_stop_word").body + event * 1000
    upstream.script = event_stream(*cut(stream, "random"))
    async with running(upstream.url, event_bytes=4096) as proxy:
        assert (await chat(proxy.url)).body == stream
        metrics = await proxy.metrics()
    assert metrics.by("unread_completions_total", "reason") == {}
    assert metrics.total("generated_tokens_total") == 10


async def test_numbers_in_the_text_of_a_model(upstream: ScriptedUpstream) -> None:
    """What a model writes is not taken for what the server says."""
    text = json.dumps('{"timings":{"predicted_n":999999,"draft_n":9,"draft_n_accepted":9}}')
    event = b'data: {"choices":[{"index":0,"delta":{"content":' + text.encode() + b"}}]}\n\n"
    stream = event * 3 + b"data: " + timings() + b"\n\n" + b"data: [DONE]\n\n"
    upstream.script = event_stream(*cut(stream, "random"))
    async with running(upstream.url) as proxy:
        assert (await chat(proxy.url)).body == stream
        metrics = await proxy.metrics()
    assert metrics.total("generated_tokens_total") == 10
    assert metrics.by("completions_total", "speculation") == {"not_drafted": 1}


async def test_error_in_the_middle_of_a_stream(upstream: ScriptedUpstream) -> None:
    """A stream that ends with an error event passes, and is counted as such."""
    event = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    stream = event * 3 + b'data: {"error":{"message":"out of memory","code":500}}\n\n'
    upstream.script = event_stream(stream)
    async with running(upstream.url) as proxy:
        assert (await chat(proxy.url)).body == stream
        metrics = await proxy.metrics()
    assert metrics.by("unread_completions_total", "reason") == {"error_event": 1}


async def test_content_of_answers_is_never_logged(
    upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither prompt nor output nor key is in the log, whatever is wrong with them."""
    secret = b"topsecret"
    upstream.script = answer(response(b'{"timings":{"predicted_n":"' + secret + b'"}'))
    with caplog.at_level(logging.DEBUG):
        async with running(upstream.url) as proxy:
            await chat(proxy.url, b'{"prompt":"topsecret"', (b"Authorization", b"topsecret"))
            await proxy.metrics()
    assert "topsecret" not in caplog.text


async def test_a_fault_in_reading_is_counted_and_told(
    upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever went wrong while an answer passed: the log says where, and traffic goes on."""
    async with running(upstream.url) as proxy:
        exchange = Exchange(CHAT, completion=True, received_at=0.0, code=200)
        exchange.upstream = proxy.service.upstreams.first.name
        exchange.transcript = Fault("ZeroDivisionError", "in a file, in a line")
        proxy.service._recorder.take(exchange)
        metrics = await proxy.metrics()
    assert metrics.by("unread_completions_total", "reason") == {"reader_failed": 1}
    assert "ZeroDivisionError\nin a file, in a line" in caplog.text
