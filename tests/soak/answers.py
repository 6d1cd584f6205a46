"""The bytes of an answer: llama.cpp's and vLLM's shapes, with the flaw that was ordered."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Any

import orjson

from tests.answers import DONE, event
from tests.gateway.client import CHAT
from tests.scripted import CHUNKED, EVENTS, JSON, Field, chunk, cut, head
from tests.soak.numbers import llama_timings, vllm_metrics, vllm_usage
from tests.soak.order import PID_HEADER, Order

FLAWS = (
    "gzip",  # although identity was asked for
    "length_too_long",  # more bytes are announced than come; then the connection ends
    "length_too_short",  # fewer bytes are announced than come
    "bad_chunk",  # a chunk's size is no number
    "two_lengths",
    "garbage",  # no HTTP at all
    "long_head",
    "error_event",  # an event stream that ends with an error
    "not_json",
    "no_numbers",
    "usage_only",  # llama.cpp's token counts without its timings
    "other_choices",  # two choices, the numbers of one
)

_LONG_HEAD = (
    600 * 1024
)  # the limit of 256 KiB is seen at the latest with the third piece that is read
_FINGERPRINT = {"llama": "b9000-abcdef1", "cancelled": "b9000-abcdef1", "vllm": "vllm-0.32.0-abc"}

Members = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What the request that reached the upstream asks for."""

    usage: bool = False
    """A stream's usage (vLLM reports nothing without)."""
    running: bool = False
    """Timings on every event (llama.cpp)."""


def payload(order: Order, asked: Asked) -> list[bytes]:
    """Return the body of an answer in its natural pieces: events, or parts of a document."""
    if order.status != 200:
        error = {"message": f"ordered {order.number}", "type": "soak", "code": order.status}
        return [orjson.dumps({"error": error})]
    if order.flaw == "not_json" and not order.stream:
        return [b"<html>order %d</html>" % order.number]
    if order.stream:
        pieces = _events(order, asked)
        return [gzip.compress(b"".join(pieces), mtime=0)] if order.flaw == "gzip" else pieces
    body = orjson.dumps(_document(order))
    if order.flaw == "gzip":
        body = gzip.compress(body, mtime=0)
    size = -(-len(body) // max(order.events, 1))
    return [body[at : at + size] for at in range(0, len(body), size)]


@dataclass(frozen=True)
class Wire:
    """An answer as it is sent."""

    head: bytes
    pieces: list[bytes]
    """The framed body: one for each piece of the payload, and what ends it."""


def wire(order: Order, asked: Asked, *more: Field) -> Wire:
    """Return the bytes of an answer; `more` headers go with it."""
    if order.flaw == "garbage":
        return Wire(b"SSH-2.0-order-%d\r\n\r\n" % order.number, [])
    pieces = payload(order, asked)
    size = sum(map(len, pieces))
    kind = EVENTS if order.is_stream_of_events else JSON
    fields: list[Field] = [kind, *more]
    if order.flaw == "gzip":
        fields.append((b"Content-Encoding", b"gzip"))
    if order.flaw == "long_head":
        fields.append((b"X-Long", b"x" * _LONG_HEAD))
    length = b"Content-Length"
    match order.flaw:
        case "length_too_long":
            fields.append((length, b"%d" % (size + 100)))
        case "length_too_short":
            fields.append((length, b"%d" % short(order, size)))
            pieces = [b"".join(pieces)]
        case "two_lengths":
            fields += [(length, b"%d" % size), (length, b"%d" % (size + 1))]
        case _ if order.framing == "length":
            fields.append((length, b"%d" % size))
        case _ if order.framing == "chunked":
            fields.append(CHUNKED)
            pieces = [*map(chunk, pieces), chunk(b"")]
            if order.flaw == "bad_chunk":
                pieces[-1] = b"no size\r\n"
        case _:
            fields.append((b"Connection", b"close"))
    return Wire(head(f"{order.status} Ordered", *fields), pieces)


def short(order: Order, size: int) -> int:
    """Return the length that is announced where it is too short for the body."""
    return size - 1 - order.number % min(size - 1, 40)


def closes(order: Order) -> bool:
    """Whether the connection ends with the answer."""
    return order.framing == "close" or order.flaw in (
        *("length_too_long", "length_too_short", "bad_chunk", "two_lengths", "garbage"),
        "long_head",
    )


def sent_pieces(order: Order, framed: list[bytes]) -> list[bytes]:
    """Cut what is sent as ordered."""
    if order.cut == "events":
        return framed
    return cut(b"".join(framed), order.cut, order.number)


# The two shapes.


def _common(order: Order, kind: str) -> Members:
    kind = f"chat.completion{kind}" if order.endpoint == CHAT else "text_completion"
    model = order.answer_model or order.model
    return {"id": f"soak-{order.number}", "object": kind, "created": 1795961500, "model": model}


def _choice(order: Order, text: str, finish: str | None, where: str) -> Members:
    said: Members = {"content": text} if text or where == "message" else {}
    content: Members = {where: said} if order.endpoint == CHAT else {"text": text}
    return {"index": 0, **content, "finish_reason": finish}


def _text(order: Order, number: int) -> str:
    return f" w{order.number}.{number:05d}".ljust(order.text, "~")


def _document(order: Order) -> Members:
    text = "".join(_text(order, i) for i in range(order.events))
    choices = [_choice(order, text, "stop", "message")]
    if order.flaw == "other_choices":
        choices.append({**choices[0], "index": 1})
    document = {
        **_common(order, ""),
        "choices": choices,
        "system_fingerprint": _FINGERPRINT[order.server],
    }
    return document | _told(order)


def _told(order: Order) -> Members:
    """The members with numbers, as they end an answer."""
    numbers = order.numbers
    if order.flaw == "no_numbers":
        return {}
    if order.server == "vllm":
        return {
            "usage": vllm_usage(numbers, order.flaw),
            "metrics": vllm_metrics(numbers, order.flaw),
        }
    usage = {
        "completion_tokens": numbers.generated,
        "prompt_tokens": numbers.prompt,
        "prompt_tokens_details": {"cached_tokens": numbers.cached},
    }
    if order.flaw == "usage_only":
        return {"usage": usage}
    # A stream has no usage unless it was asked for.
    more: Members = {} if order.stream else {"usage": usage}
    return more | {"timings": llama_timings(numbers, order.flaw)}


def _events(order: Order, asked: Asked) -> list[bytes]:
    common = _common(order, ".chunk")
    fingerprint = {"system_fingerprint": _FINGERPRINT[order.server]}
    is_vllm = order.server == "vllm"
    every: Members = {} if is_vllm else fingerprint
    role = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    events = [event({**common, "choices": [role], **every})]
    for i in range(order.events):
        running: Members = {}
        if asked.running:
            running = {"timings": llama_timings(order.numbers.at(i + 1))}
        choices = [_choice(order, _text(order, i), None, "delta")]
        events.append(event({**common, "choices": choices, **every, **running}))
    if order.flaw == "error_event":
        return [*events, event({"error": {"message": "ordered", "code": 500}}), DONE]
    finish = [_choice(order, "", "stop", "delta")]
    told = _told(order)
    if order.flaw == "not_json":
        last = [b'data: {"timings":{"predicted_n":5,"usage":\n\n']
    elif not is_vllm:
        last = [event({**common, "choices": finish, **every, **told})]
    elif asked.usage and told:
        last = [
            event({**common, "choices": finish}),
            event({**common, "choices": [], "usage": told["usage"], **fingerprint, **told}),
        ]
    else:
        last = [event({**common, "choices": finish, **fingerprint})]
    return [*events, *last, DONE]


def pid_field(pid: int) -> Field:
    """Say which process answers."""
    return (PID_HEADER, b"%d" % pid)
