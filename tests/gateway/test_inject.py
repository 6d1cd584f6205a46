"""SGLang is asked for its numbers, vLLM for running usage, and the client sees nothing of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import sglang_answers as sglang
from tests.gateway.client import ask, chat
from tests.gateway.proxy import Metrics, running
from tests.scripted import (
    CHUNKED,
    EVENTS,
    JSON,
    Call,
    Field,
    Script,
    ScriptedUpstream,
    answer,
    answer_and_close,
    chunked,
    cut,
    head,
    response,
)

STREAM = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}'
DOCUMENT = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
MODELS = b'{"object":"list","data":[{"id":"m","object":"model","owned_by":"sglang"}]}'


def asked(body: bytes) -> dict[str, bool]:
    """Return what a request asks for, as SGLang reads it."""
    request: dict[str, Any] = json.loads(body)
    options = request.get("stream_options") or {}
    return {
        "drafts": request.get("return_spec_tokens_details") is True,
        "usage": options.get("include_usage") is True,
        "every": options.get("continuous_usage_stats") is True,
    }


def server(how: str = "whole", *, framing: str = "chunked", default: bool = False) -> Script:
    """Make a script that answers as SGLang does.

    Args:
        how: How the body is cut.
        framing: How its end is told: `chunked`, `length` or `close`.
        default: Whether streams end with usage also where nobody asked.
    """

    async def script(call: Call) -> None:
        request = await call.body()
        wishes = asked(request)
        streamed = json.loads(request).get("stream") is True
        if streamed:
            wishes["usage"] = wishes["usage"] or default
            body = sglang.chat_stream(**wishes)
        else:
            body = sglang.document("\u00fc", drafts=wishes["drafts"])
        kind = EVENTS if streamed else JSON
        if framing == "chunked":
            await call.send(head("200 OK", kind, CHUNKED), *chunked(cut(body, how)))
        elif framing == "length":
            length: Field = (b"Content-Length", b"%d" % len(body))
            await call.send(head("200 OK", kind, length), *cut(body, how))
        else:
            await call.send(head("200 OK", kind), *cut(body, how))
            call.close()

    return script


@pytest.fixture
def upstream(upstream: ScriptedUpstream) -> ScriptedUpstream:
    upstream.models = MODELS
    return upstream


def check_drafts(metrics: Metrics, completions: int = 1, generated: int = 0) -> None:
    """Check that the drafts of each answer were counted, and the tokens of some."""
    assert metrics.total("spec_decode_num_draft_tokens_total") == 192 * completions
    assert metrics.total("generated_tokens_total") == generated
    assert metrics.by("unread_completions_total", "reason") == {}


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
@pytest.mark.parametrize("how", ["bytes", "random", "whole"])
async def test_streams(upstream: ScriptedUpstream, how: str, framing: str) -> None:
    """The first one shows that usage has to be asked for; none shows that anything was."""
    upstream.script = server(how, framing=framing)
    async with running(upstream.url) as proxy:
        first = await chat(proxy.url, STREAM)
        second = await chat(proxy.url, STREAM)
        metrics = await proxy.metrics()
    wishes = [asked(request.body) for request in upstream.requests]
    assert [wish["drafts"] for wish in wishes] == [True, True]
    assert [wish["usage"] for wish in wishes] == [False, True]
    assert first.complete
    assert second.complete
    assert first.body == second.body == sglang.chat_stream()
    check_drafts(metrics, 2, generated=3)


async def test_usage_that_comes_unasked_stays(upstream: ScriptedUpstream) -> None:
    """A server that was told to send usage by default has clients that count on it."""
    upstream.script = server(default=True)
    async with running(upstream.url) as proxy:
        bodies = [(await chat(proxy.url, STREAM)).body for _ in range(3)]
    assert bodies == [sglang.chat_stream(usage=True)] * 3
    assert not any(asked(request.body)["usage"] for request in upstream.requests)


async def test_a_server_that_was_away_is_watched_again(upstream: ScriptedUpstream) -> None:
    """It may have been started in another way, so its next stream is not asked for usage."""
    upstream.script = server()
    async with running(upstream.url) as proxy:
        await chat(proxy.url, STREAM)
        await chat(proxy.url, STREAM)
        proxy.service.upstreams.first.up = False
        await proxy.service._probe._ask(proxy.service.upstreams.first)
        upstream.script = server(default=True)
        got = await chat(proxy.url, STREAM)
    assert [asked(one.body)["usage"] for one in upstream.requests] == [False, True, False]
    assert got.body == sglang.chat_stream(usage=True)


async def test_running_usage(upstream: ScriptedUpstream) -> None:
    """Usage on every chunk is taken out again too."""
    upstream.script = server("random")
    async with running(upstream.url, continuous_usage=True) as proxy:
        bodies = [(await chat(proxy.url, STREAM)).body for _ in range(2)]
        readings = [one.reading for one in proxy.seen]
    assert all(asked(request.body)["every"] for request in upstream.requests)
    assert bodies == [sglang.chat_stream()] * 2
    assert [one.generated for one in readings] == [3, 3]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
@pytest.mark.parametrize("how", ["bytes", "random", "whole"])
async def test_documents(upstream: ScriptedUpstream, how: str, framing: str, version: str) -> None:
    """The extension is gone, and the length that is announced is right."""
    upstream.script = server(how, framing=framing)
    async with running(upstream.url) as proxy:
        got = await ask(proxy.url, "POST", "/v1/chat/completions", body=DOCUMENT, version=version)
        metrics = await proxy.metrics()
    unasked = sglang.document("\u00fc")
    assert asked(upstream.requests[0].body)["drafts"]
    assert got.complete
    assert got.body == unasked
    announced = [b"%d" % len(unasked)] if framing == "length" else []
    assert got.all(b"content-length") == announced
    check_drafts(metrics, generated=3)


async def test_two_documents_on_one_connection(upstream: ScriptedUpstream) -> None:
    """A changed length does not run one answer into the next."""
    upstream.script = server(framing="length")
    async with running(upstream.url) as proxy:
        bodies = [(await chat(proxy.url, DOCUMENT)).body for _ in range(3)]
    assert bodies == [sglang.document("\u00fc")] * 3
    assert upstream.connections <= 2


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_a_long_document(upstream: ScriptedUpstream, version: str) -> None:
    """Past `body_bytes` it is not held, goes out without a length, and loses its extension too."""
    long = "x" * 300_000
    upstream.script = answer(response(sglang.document(long, drafts=True)))
    async with running(upstream.url, body_bytes=100_000) as proxy:
        got = await ask(proxy.url, "POST", "/v1/chat/completions", body=DOCUMENT, version=version)
        metrics = await proxy.metrics()
    assert got.complete
    assert got.body == sglang.document(long)
    assert got.all(b"content-length") == []
    assert metrics.by("unread_completions_total", "reason") == {"too_large": 1}


async def test_a_document_that_breaks_off(upstream: ScriptedUpstream) -> None:
    """What came reaches the client, and no clean end is made up."""
    whole = sglang.document("\u00fc", drafts=True)
    length: Field = (b"Content-Length", b"%d" % len(whole))
    upstream.script = answer_and_close(head("200 OK", JSON, length) + whole[:100])
    async with running(upstream.url) as proxy:
        got = await chat(proxy.url, DOCUMENT)
        metrics = await proxy.metrics()
    assert not got.complete
    assert got.raw == whole[:100]
    assert metrics.by("upstream_failures_total", "reason") == {"broken_off": 1}


async def test_an_error_passes(upstream: ScriptedUpstream) -> None:
    """An error answer is no completion."""
    error = b'{"object":"error","message":"no","sglext":{"x":1}}'
    upstream.script = answer(response(error, "400 Bad Request", JSON))
    async with running(upstream.url) as proxy:
        got = await chat(proxy.url, DOCUMENT)
    assert (got.status, got.body) == (400, error)


@pytest.mark.parametrize("body", [STREAM, DOCUMENT])
async def test_switched_off(upstream: ScriptedUpstream, body: bytes) -> None:
    """With `inject = false` the request goes out as it is."""
    upstream.script = server()
    async with running(upstream.url, inject=False, continuous_usage=True) as proxy:
        await chat(proxy.url, body)
    assert upstream.requests[0].body == body


async def test_lines_of_ollama(upstream: ScriptedUpstream) -> None:
    """A document a line passes as it is, and its last one is read."""
    told = b'"done":true,"prompt_eval_count":41,"eval_count":129,"eval_duration":1600000000'
    lines = [
        b'{"model":"m","created_at":"t","response":"a","done":false}\n',
        b'{"model":"m","created_at":"t","response":"b","done":false}\n',
        b'{"model":"m","created_at":"t","response":"",' + told + b"}\n",
    ]
    upstream.models = MODELS.replace(b"sglang", b"library")
    kind: Field = (b"Content-Type", b"application/x-ndjson")
    pieces = chunked(cut(b"".join(lines), "random"))
    upstream.script = answer(head("200 OK", kind, CHUNKED), *pieces)
    async with running(upstream.url) as proxy:
        got = await ask(proxy.url, "POST", "/api/generate", body=b'{"model":"m","prompt":"hi"}')
        metrics = await proxy.metrics()
    assert got.body == b"".join(lines)
    assert metrics.by("completions_total", "speculation") == {"not_reported": 1}
    assert metrics.total("decode_seconds_total") == pytest.approx(1.6)
    assert metrics.total("decode_tokens_total") == 128
    assert metrics.by("requests_total", "endpoint") == {"/api/generate": 1}
