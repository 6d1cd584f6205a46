"""Answers as servers send them, and reading them as the proxy does."""

from __future__ import annotations

from typing import Any

import orjson

from specmeter import ndjson, sse
from specmeter.fault import Fault
from specmeter.reader import Outcome, read
from specmeter.reading import Reading
from specmeter.transcript import BodyTranscript, Copied, StreamTranscript

Message = dict[str, Any]

DONE = b"data: [DONE]\n\n"
LIMIT = 1 << 20


def event(message: Message) -> bytes:
    """Return a server-sent event; a message with a type names the event by it."""
    kind = message.get("type")
    name = b"event: %b\n" % kind.encode() if isinstance(kind, str) else b""
    return name + b"data: " + orjson.dumps(message) + b"\n\n"


def stream(*messages: Message) -> bytes:
    """Return a stream of events that ends as OpenAI's do."""
    return b"".join(event(message) for message in messages) + DONE


def lines(*messages: Message) -> bytes:
    """Return a stream of one document a line."""
    return b"".join(orjson.dumps(message) + b"\n" for message in messages)


def chunk(content: str, **more: Any) -> Message:
    """Return a chat completion's chunk with content."""
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": None}
    return {"object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def finish(**more: Any) -> Message:
    """Return the chunk with the finish reason; `more` goes into its choice."""
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", **more}
    return {"object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def last(**more: Any) -> Message:
    """Return the chunk without choices that comes last."""
    return {"object": "chat.completion.chunk", "model": "m", "choices": [], **more}


def chat(*choices: Message, **more: Any) -> Message:
    """Return a chat completion; without choices given it has a plain one."""
    plain = {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}
    made = [{**plain, "index": at, **choice} for at, choice in enumerate(choices or ({},))]
    return {"object": "chat.completion", "model": "m", "choices": made, **more}


def copied(form: str, *pieces: bytes, limit: int = LIMIT) -> Copied:
    """Return the copy of an answer whose piece i came at second i.

    Args:
        form: `body`, `events` or `lines`.
        pieces: The answer.
        limit: How much of it is kept.
    """
    copy: BodyTranscript | StreamTranscript
    if form == "body":
        copy = BodyTranscript(limit)
    else:
        copy = StreamTranscript(limit, ndjson if form == "lines" else sse, keeps_everything=True)
    for second, piece in enumerate(pieces):
        copy.append(piece, float(second))
    found = copy.copied()
    assert not isinstance(found, Fault)
    return found


def read_answer(form: str, *pieces: bytes, **options: Any) -> Outcome:
    """Read an answer whose kind nobody has told."""
    return read(copied(form, *pieces, **options))


def is_possible(one: Reading) -> bool:
    """Whether nothing is negative, and no rate is beyond its bounds."""
    counts = (one.generated, one.prompt, one.cached_prompt, one.drafted, one.accepted, one.rounds)
    numbers = (
        *counts,
        one.steps,
        one.decode_seconds,
        *(one.accepted_per_position or ()),
    )
    return (
        all(number >= 0 for number in numbers if number is not None)
        and (one.acceptance is None or 0 <= one.acceptance <= 1)
        and (one.target_steps is None or one.target_steps >= 1)
        and (one.output_per_step is None or one.output_per_step >= 1)
    )
