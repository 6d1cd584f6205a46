"""What one request tells the upstream to do, and what its client will do itself.

An order travels in the header `x-soak`, not in the body: some faults happen before the body is
read. So both sides know every byte that has to come out.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import orjson

from tests.gateway.client import CHAT, request
from tests.scripted import CHUNKED, JSON, Field, chunk
from tests.soak.numbers import Numbers

Server = Literal["llama", "cancelled", "vllm"]
"""`cancelled` is a llama.cpp whose streams are metered up to where their client leaves."""

MODELS: dict[Server, tuple[str, ...]] = {
    "llama": ("llama-a", "llama-b"),
    "cancelled": ("coder",),
    "vllm": ("vllm-a", "vllm-b"),
}

UNLISTED = "mystery"
"""A model that no configuration knows: it has to be counted as `other`."""

HEADER = b"x-soak"
PID_HEADER = b"x-soak-pid"
"""Which process answered."""
CHECKSUM_HEADER = b"x-soak-checksum"
"""Of the request's body, as it came."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One request and its fate."""

    number: int
    """It is in every event, so that lost, repeated and mixed-up ones show."""
    server: Server
    model: str
    numbers: Numbers
    endpoint: str = CHAT
    stream: bool = False
    asks_usage: bool = False
    """Whether the client itself asks for the stream's usage (vLLM)."""
    answer_model: str = ""
    """The model that the answer names, if it is another one."""

    # The answer.
    events: int = 4
    """With content; of a document, the pieces it is sent in."""
    text: int = 8
    """Bytes of text in each."""
    status: int = 200
    flaw: str = ""
    """What is wrong with the answer, of `answers.FLAWS`, or a damage of `numbers`."""
    framing: Literal["chunked", "length", "close"] = "chunked"
    cut: Literal["events", "random", "bytes"] = "events"
    pause: float = 0.0
    """Seconds between pieces."""

    # Where it ends early.
    stop: Literal["", "at_once", "read", "in_head", "head", "in_body"] = ""
    """Before the request's body is read, once it is read, within or after the answer's head, or
    after `stop_after` pieces of the answer's body."""
    stop_after: int = 0
    ending: Literal["", "close", "reset", "hang"] = ""
    """What happens then; `hang` lasts until the client has left."""

    # The client.
    version: Literal["1.1", "1.0"] = "1.1"
    upload: int = 0
    """Bytes by which the request's body is padded."""
    upload_chunked: bool = False
    by_query: bool = False
    """Whether the query names the model, so that the body need not be looked at."""
    leaves: Literal["", "close", "reset"] = ""
    """How the client leaves while the upstream hangs."""
    upload_stops: bool = False
    """Whether it leaves in the middle of its own body."""
    slow: bool = False
    """Whether it takes its time to read."""

    @property
    def is_stream_of_events(self) -> bool:
        return self.stream and self.status == 200

    @property
    def needs_steady_server(self) -> bool:
        """Whether a killed upstream would leave it open what was counted.

        A body that ends with the connection looks whole when its sender dies; a client that is
        still sending a large body may not see its error; and two faults at once are one too many.
        """
        if self.leaves:
            return False  # it sees to that itself
        return (
            self.framing == "close"
            or self.version == "1.0"
            or self.flaw in ("bad_chunk", "error_event", "length_too_long")
            or self.upload > 100_000
        )

    @property
    def kept_waiting(self) -> bool:
        """Whether the request has reached no upstream when its client leaves in its body."""
        return self.upload_stops and not self.by_query


def encode(order: Order) -> bytes:
    """Write an order as a header's value."""
    return msgspec.json.encode(order)


def decode(value: bytes) -> Order:
    """Read it again."""
    return msgspec.json.decode(value, type=Order)


def body_of(order: Order) -> bytes:
    """Return the request's body."""
    asked: dict[str, object] = {
        "model": order.model,
        "stream": order.stream,
        "prompt": "x" * order.upload,
    }
    if order.asks_usage:
        asked["stream_options"] = {"include_usage": True}
    return orjson.dumps(asked)


def request_of(order: Order) -> tuple[bytes, bytes]:
    """Return the request's head and its framed body."""
    target = f"{order.endpoint}?model={order.model}" if order.by_query else order.endpoint
    body = body_of(order)
    fields: list[Field] = [JSON, (HEADER, encode(order))]
    if order.kept_waiting:
        fields.append((b"Expect", b"100-continue"))
    if order.upload_chunked:
        fields.append(CHUNKED)
        size = max(len(body) // 3, 1)
        body = b"".join(chunk(body[at : at + size]) for at in range(0, len(body), size))
        body += chunk(b"")
    else:
        fields.append((b"Content-Length", b"%d" % len(body)))
    return request("POST", target, *fields, version=order.version), body
