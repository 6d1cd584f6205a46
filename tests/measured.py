"""Scripts for upstreams that are measured: completions with a speed of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from tests.answers import DONE, chat, chunk, event, finish, last
from tests.scripted import (
    CHUNKED,
    EVENTS,
    Call,
    Script,
    ScriptedUpstream,
    event_stream,
    head,
    response,
)
from tests.scripted import chunk as framed

CHAT = "/v1/chat/completions"
MODELS = b'{"object":"list","data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":4096}}]}'
REFUSED = "400 Bad Request"

Reply = Callable[[dict[str, Any], int], Script]
"""Makes the script for a request's body, given how many were answered before."""


def completion(
    body: dict[str, Any],
    *,
    speed: float = 50.0,
    drafted: int = 0,
    accepted: int = 0,
    text: str = "text",
    tokens: int | None = None,
    build: str = "b1-a",
    timings: bool = True,
) -> Script:
    """Stream a completion as llama.cpp does; `speed` in tokens per second."""
    tokens = body["max_tokens"] if tokens is None else tokens
    prompt = _prompt(body)
    numbers: dict[str, Any] = {
        "prompt_n": prompt,
        "cache_n": 0,
        "predicted_n": tokens,
        "predicted_ms": 1000 * (tokens - 1) / speed,
    }
    if drafted:
        numbers |= {"draft_n": drafted, "draft_n_accepted": accepted}
    usage = {"prompt_tokens": prompt, "completion_tokens": tokens}
    end = last(usage=usage, system_fingerprint=build, **({"timings": numbers} if timings else {}))
    return event_stream(event(chunk(text)), event(finish()), event(end), DONE)


def _prompt(body: dict[str, Any]) -> int:
    return 10 + sum(len(one["content"].split()) for one in body["messages"])


def untimed(body: dict[str, Any]) -> Script:
    """Stream a completion in pieces and with usage, as servers do that report nothing else."""
    usage = {"prompt_tokens": _prompt(body), "completion_tokens": body["max_tokens"]}

    async def script(call: Call) -> None:
        await call.send(head("200 OK", EVENTS, CHUNKED))
        for _ in range(3):
            await call.send(framed(event(chunk("text"))))
            await asyncio.sleep(0.01)
        await call.send(framed(event(last(usage=usage))), framed(DONE), framed(b""))

    return script


def without_stream(body: dict[str, Any]) -> Script:
    """Answer in one piece, without decode times, though a stream was asked for."""
    usage = {"prompt_tokens": 20, "completion_tokens": body["max_tokens"]}

    async def script(call: Call) -> None:
        await call.send(response(orjson.dumps(chat(usage=usage))))

    return script


def refusal(status: str = REFUSED) -> Script:
    """Answer with an error."""

    async def script(call: Call) -> None:
        await call.send(response(b'{"error":{"message":"no"}}', status))

    return script


def dies() -> Script:
    """Break the connection off in the middle of a stream."""

    async def script(call: Call) -> None:
        await call.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        await call.send(b"Transfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n")
        call.reset()

    return script


def measured(reply: Reply, *, models: bytes = MODELS) -> ScriptedUpstream:
    """Make an upstream whose completions are made by `reply`."""
    count = 0

    async def answer(call: Call) -> None:
        nonlocal count
        body = orjson.loads(await call.body())
        script = reply(body, count)
        count += 1
        await script(call)

    return ScriptedUpstream(scripts={CHAT: answer}, models=models)


def steady(**more: Any) -> Reply:
    """Answer every request alike."""
    return lambda body, _: completion(body, **more)
