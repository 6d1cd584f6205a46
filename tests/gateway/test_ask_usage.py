"""vLLM's streams are asked for their numbers, and the client sees nothing of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.gateway.checks import numbers_counted
from tests.gateway.client import CHAT, Client, ask, chat, request
from tests.gateway.expected import EXPECTED
from tests.gateway.proxy import running
from tests.replay import VLLM_STREAM, VLLM_STREAM_ASKED, capture, model_list
from tests.scripted import (
    CHUNKED,
    EVENTS,
    Call,
    Script,
    ScriptedUpstream,
    answer,
    answer_and_close,
    chunk,
    chunked,
    cut,
    event_stream,
    head,
    response,
)

NUMBERS = EXPECTED["vllm/chat_stream_usage"]
BODY = b'{"model":"smol","stream":true,"messages":[{"role":"user","content":"hi"}]}'
WITH_USAGE = BODY[:-1] + b',"stream_options":{"include_usage":true}}'


def asks(body: bytes) -> bool:
    """Whether a request asks for usage, as vLLM reads it."""
    options = json.loads(body).get("stream_options") or {}
    return options.get("include_usage") is True


def vllm(how: str = "whole", framing: str = "chunked") -> Script:
    """Make a script that streams as vLLM does: with the usage chunk where it is asked for."""

    async def script(call: Call) -> None:
        body = VLLM_STREAM_ASKED if asks(await call.body()) else VLLM_STREAM
        pieces = cut(body, how)
        if framing == "chunked":
            await call.send(head("200 OK", EVENTS, CHUNKED), *chunked(pieces))
        elif framing == "length":
            length = (b"Content-Length", b"%d" % len(body))
            await call.send(head("200 OK", EVENTS, length), *pieces)
        else:
            await call.send(head("200 OK", EVENTS), *pieces)
            call.close()

    return script


@pytest.fixture
def server(upstream: ScriptedUpstream) -> ScriptedUpstream:
    upstream.models = model_list("vllm/chat")
    upstream.script = vllm()
    return upstream


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
@pytest.mark.parametrize("how", ["bytes", "random", "whole"])
async def test_stream_is_what_it_would_have_been(
    server: ScriptedUpstream, how: str, framing: str
) -> None:
    """A client that did not ask gets byte for byte the stream of a server that was not asked."""
    server.script = vllm(how, framing)
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, BODY)
        metrics = await proxy.metrics()
    assert asks(server.requests[0].body)
    assert got.complete
    assert got.body == VLLM_STREAM
    numbers_counted(metrics, NUMBERS)


@pytest.mark.parametrize("how", ["bytes", "random", "whole"])
async def test_who_asks_gets_it(server: ScriptedUpstream, how: str) -> None:
    """A client that asked for usage gets the usage chunk, and its request goes out as it is."""
    server.script = vllm(how)
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, WITH_USAGE)
        metrics = await proxy.metrics()
    assert server.requests[0].body == WITH_USAGE
    assert got.body == VLLM_STREAM_ASKED
    numbers_counted(metrics, NUMBERS)


async def test_kind_found_out_is_enough(server: ScriptedUpstream) -> None:
    """The kind need not be configured: `/v1/models` of vLLM tells it."""
    async with running(server.url) as proxy:
        got = await chat(proxy.url, BODY)
        metrics = await proxy.metrics()
    assert got.body == VLLM_STREAM
    numbers_counted(metrics, NUMBERS)


async def test_old_client_gets_it_unframed(server: ScriptedUpstream) -> None:
    """A client of HTTP/1.0 gets the same stream, ended by the end of the connection."""
    async with running(server.url, backend="vllm") as proxy:
        got = await ask(proxy.url, "POST", CHAT, body=BODY, version="1.0")
        metrics = await proxy.metrics()
    assert got.closes
    assert got.all(b"transfer-encoding") == []
    assert got.raw == VLLM_STREAM
    numbers_counted(metrics, NUMBERS)


UNCHANGED: dict[str, bytes] = {
    "not streamed": b'{"model":"smol","messages":[]}',
    "stream is false": b'{"stream":false,"messages":[]}',
    "stream is no boolean": b'{"stream":"true","messages":[]}',
    "several outputs": b'{"stream":true,"n":2}',
    "best of several": b'{"stream":true,"best_of":2}',
    "several prompts": b'{"stream":true,"prompt":["a","b"]}',
    "several prompts of tokens": b'{"stream":true,"prompt":[[1,2],[3]]}',
    "usage on every chunk": b'{"stream":true,"stream_options":{"continuous_usage_stats":true}}',
    "asks itself": b'{"stream":true,"stream_options":{"include_usage":true}}',
    "asks in its own way": b'{"stream":true,"stream_options":{"include_usage":"yes"}}',
    "options of a wrong type": b'{"stream":true,"stream_options":[]}',
    "no JSON": b'{"stream":true,',
    "Python's JSON": b'{"stream":true,"temperature":NaN}',
    "a list": b'[{"stream":true}]',
    "text": b'"stream"',
    "no UTF-8": b'{"stream":true,"prompt":"\xff"}',
    "with a byte order mark": b'\xef\xbb\xbf{"stream":true}',
    "very deep": b'{"stream":true,"x":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "empty": b"",
}


@pytest.mark.parametrize("body", UNCHANGED.values(), ids=UNCHANGED)
async def test_request_is_left_alone(server: ScriptedUpstream, body: bytes) -> None:
    """Where asking is of no use, or not understood, the request goes out byte for byte."""
    server.script = event_stream(VLLM_STREAM)
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, body)
    assert server.requests[0].body == body
    assert got.body == VLLM_STREAM


CHANGED: dict[str, bytes] = {
    "odd numbers": b'{"stream":true,"seed":12345678901234567890123,"t":1.0E+2,"z":-0.0}',
    "a name twice": b'{"stream":false,"x":1,"x":2,"stream":true}',
    "options twice": b'{"stream":true,"stream_options":{"include_usage":false}}',
    "options null": b'{"stream":true,"stream_options":null}',
    "unicode escapes": b'{"stream":true,"prompt":"\\u00fc\\ud83d\\ude00 \\/ \xc3\xbc\\u0000"}',
    "braces in text": b'{"prompt":"}}{","stream":true}',
    "blanks": b' \r\n{ "stream" : true ,\t"n" : 1 } \n\n',
    "one prompt of tokens": b'{"stream":true,"prompt":[1,2,3]}',
}


@pytest.mark.parametrize("body", CHANGED.values(), ids=CHANGED)
async def test_only_a_member_is_added(server: ScriptedUpstream, body: bytes) -> None:
    """The client's bytes all stay where they are; one member is added behind them."""
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, body)
    sent = server.requests[0].body
    end = body.rindex(b"}")
    assert sent.startswith(body[:end])
    assert sent.endswith(body[end:])
    assert asks(sent)
    assert int(server.requests[0].all(b"content-length")[0]) == len(sent)
    assert got.body == VLLM_STREAM


async def test_other_stream_options_stay(server: ScriptedUpstream) -> None:
    """Options that the client set hold beside the one that is added."""
    body = b'{"stream":true,"stream_options":{"include_usage":false,"x":[1,{"y":"z"}]}}'
    async with running(server.url, backend="vllm") as proxy:
        await chat(proxy.url, body)
    sent: dict[str, Any] = json.loads(server.requests[0].body)
    assert sent["stream_options"] == {"include_usage": True, "x": [1, {"y": "z"}]}


async def test_number_beyond_doubles_is_left_alone(server: ScriptedUpstream) -> None:
    """A number that no double holds is not rounded on its way."""
    body = b'{"stream":true,"temperature":1e400}'
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, body)
    assert server.requests[0].body.startswith(body[:-1])
    assert got.body == VLLM_STREAM


@pytest.mark.parametrize("settings", [{"backend": "vllm", "inject": False}, {"backend": "openai"}])
async def test_switched_off(server: ScriptedUpstream, settings: dict[str, Any]) -> None:
    """With `inject = false`, or in front of another kind, nothing is asked."""
    async with running(server.url, **settings) as proxy:
        got = await chat(proxy.url, BODY)
        metrics = await proxy.metrics()
    assert server.requests[0].body == BODY
    assert got.body == VLLM_STREAM
    assert metrics.by("unread_completions_total", "reason") == {"no_numbers": 1}


@pytest.mark.parametrize("target", ["/v1/responses", "/v1/messages", "/v1/embeddings", "/tokenize"])
async def test_other_endpoints_are_left_alone(server: ScriptedUpstream, target: str) -> None:
    """Only the two endpoints that know the option are asked."""
    server.script = event_stream(VLLM_STREAM)
    async with running(server.url, backend="vllm") as proxy:
        got = await ask(proxy.url, "POST", target, body=BODY)
    assert server.requests[0].body == BODY
    assert got.body == VLLM_STREAM


@pytest.mark.parametrize("how", ["whole", "chunked"])
async def test_large_request_is_left_alone(server: ScriptedUpstream, how: str) -> None:
    """A body past `body_bytes` goes out as it is, and whole."""
    body = BODY[:-1] + b',"x":"' + b"x" * 300_000 + b'"}'
    async with running(server.url, backend="vllm", body_bytes=100_000) as proxy:
        if how == "whole":
            got = await chat(proxy.url, body)
        else:
            async with await Client.connect(proxy.url) as client:
                await client.send(request("POST", CHAT, CHUNKED), *chunked(cut(body, "random")))
                got = await client.answer()
    assert server.requests[0].body == body
    assert got.body == VLLM_STREAM


async def test_chunked_request_is_asked(server: ScriptedUpstream) -> None:
    """A body that comes in chunks is collected, changed, and sent with its length."""
    async with running(server.url, backend="vllm") as proxy, await Client.connect(proxy.url) as one:
        await one.send(request("POST", CHAT, CHUNKED), *chunked(cut(BODY, "bytes")))
        got = await one.answer()
    assert asks(server.requests[0].body)
    assert server.requests[0].all(b"transfer-encoding") == []
    assert got.body == VLLM_STREAM


async def test_forced_usage_is_left_in(server: ScriptedUpstream) -> None:
    """A server that puts usage on every chunk unasked would have done so: nothing is taken out."""
    usage = b'"usage":{"prompt_tokens":72,"total_tokens":96,"completion_tokens":24}'
    forced = VLLM_STREAM.replace(b'"model":"smol",', b'"model":"smol",' + usage + b",").replace(
        b"data: [DONE]", b'data: {"choices":[],' + usage + b"}\n\ndata: [DONE]"
    )
    server.script = event_stream(*cut(forced, "random"))
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, BODY)
    assert got.body == forced


async def test_answer_that_is_no_stream(server: ScriptedUpstream) -> None:
    """A server that answers with one document instead is passed on with its own framing."""
    body = capture("vllm/chat").body
    server.script = answer(response(body))
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, BODY)
        metrics = await proxy.metrics()
    assert got.body == body
    assert got.all(b"content-length") == [b"%d" % len(body)]
    numbers_counted(metrics, EXPECTED["vllm/chat"])


async def test_error_of_the_server(server: ScriptedUpstream) -> None:
    """An error answer passes unchanged."""
    taken = capture("vllm/error_context")
    server.script = answer(taken.head + taken.body)
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, BODY)
    assert got.status == 400
    assert got.body == taken.body


FINISH = VLLM_STREAM_ASKED.index(b'"finish_reason":"length"')
END_OF_FINISH = VLLM_STREAM_ASKED.index(b"\n\n", FINISH) + 2


@pytest.mark.parametrize("end", [FINISH, END_OF_FINISH - 1, END_OF_FINISH, END_OF_FINISH + 20])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_nothing_is_lost_where_it_breaks(
    server: ScriptedUpstream, version: str, end: int
) -> None:
    """What is held back while the stream breaks off still reaches the client."""
    server.script = answer_and_close(
        head("200 OK", EVENTS, CHUNKED), chunk(VLLM_STREAM_ASKED[:end])
    )
    async with running(server.url, backend="vllm") as proxy:
        got = await ask(proxy.url, "POST", CHAT, body=BODY, version=version)
        metrics = await proxy.metrics()
    assert not got.complete
    assert got.body == VLLM_STREAM_ASKED[:end]
    assert metrics.by("upstream_failures_total", "reason") == {"broken_off": 1}


async def test_ping_between_finish_and_usage(server: ScriptedUpstream) -> None:
    """A ping behind the finish chunk does not make the usage chunk slip through."""
    with_ping = (
        VLLM_STREAM_ASKED[:END_OF_FINISH] + b": ping\n\n" + VLLM_STREAM_ASKED[END_OF_FINISH:]
    )
    server.script = event_stream(*cut(with_ping, "random"))
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, BODY)
    assert sorted(got.body.split(b"\n\n")) == sorted((VLLM_STREAM + b": ping\n\n").split(b"\n\n"))


async def test_lines_of_another_kind(server: ScriptedUpstream) -> None:
    """CRLF at the end of lines makes no difference."""
    server.script = event_stream(*cut(VLLM_STREAM_ASKED.replace(b"\n", b"\r\n"), "random"))
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, BODY)
        metrics = await proxy.metrics()
    assert got.body == VLLM_STREAM.replace(b"\n", b"\r\n")
    numbers_counted(metrics, NUMBERS)


async def test_huge_event_passes(server: ScriptedUpstream) -> None:
    """An event of 6 MB is passed on whole, and what follows too."""
    event = b'data: {"choices":[{"text":"' + b"x" * 6_000_000 + b'"}]}\n\n'
    server.script = event_stream(event, VLLM_STREAM)
    async with running(server.url, backend="vllm") as proxy:
        got = await chat(proxy.url, BODY)
    assert got.body == event + VLLM_STREAM


async def test_two_streams_at_once(server: ScriptedUpstream) -> None:
    """Streams that run at the same time do not mix."""
    server.script = vllm("bytes")
    async with running(server.url, backend="vllm") as proxy:
        first, second = await asyncio.gather(chat(proxy.url, BODY), chat(proxy.url, WITH_USAGE))
    assert first.body == VLLM_STREAM
    assert second.body == VLLM_STREAM_ASKED
