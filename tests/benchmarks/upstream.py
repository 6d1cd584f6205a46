"""The upstream of the benchmark: a cheap stand-in for llama-server, a process of its own.

`python -m tests.benchmarks.upstream PORT RATE` serves until its standard input ends, so it never
outlives the benchmark.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import uvloop

from tests.benchmarks.http1 import MessageReader
from tests.benchmarks.traffic import AS_CAPTURED, CHAT, UNMETERED, Shape, Traffic

_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nX-Accel-Buffering: no\r\n"
    b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)

_BACKLOG = 4096  # thousands of streams begin at a time

ANSWER_SECONDS = 0.01
"""What an answer takes that is not streamed.

No server answers at once; one that did would let the faster proxy work through several requests
for each time it wakes up, and the proxies would be compared at different loads.
"""


class _Traffics:
    """The answers, by their shape."""

    def __init__(self) -> None:
        self._made: dict[Shape, Traffic] = {}

    def of(self, shape: Shape = AS_CAPTURED) -> Traffic:
        """Give the answers of a shape."""
        if shape not in self._made:
            self._made[shape] = Traffic(shape)
        return self._made[shape]


class _Connection(asyncio.Protocol):
    """Answers the requests of one connection, one after the other."""

    def __init__(self, traffics: _Traffics, rate: float) -> None:
        self._traffics = traffics
        self._rate = rate
        self._loop = asyncio.get_running_loop()
        self._reader = MessageReader(self._on_head, self._on_body, self._on_end)
        self._head = b""
        self._body = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self._timer:
            self._timer.cancel()

    def _on_head(self, head: bytes) -> None:
        self._head = head

    def _on_body(self, piece: bytes) -> None:
        self._body += piece

    def _on_end(self) -> None:
        body, self._body = self._body, bytearray()
        method, path, _ = self._head.split(b"\r\n", 1)[0].decode().split(" ")
        if method == "POST" and path in (CHAT, UNMETERED):
            self._complete(json.loads(body))
        else:
            page = self._traffics.of().pages.get(path)
            self._transport.write(_message(page) if page else _message(b"{}", "404 Not Found"))

    def _complete(self, request: dict[str, Any]) -> None:
        shape = Shape(**request["shape"]) if "shape" in request else AS_CAPTURED
        traffic = self._traffics.of(shape)
        if not request.get("stream"):
            answer = _message(traffic.answer(request["seed"]))
            self._timer = self._loop.call_later(ANSWER_SECONDS, self._transport.write, answer)
            return
        events = traffic.events(request["seed"], request["max_tokens"])
        self._transport.write(_STREAM_HEAD)
        self._send(events, next(events), 0, self._loop.time(), 1 / (shape.rate or self._rate))

    def _send(
        self, events: Iterator[bytes], event: bytes, index: int, start: float, period: float
    ) -> None:
        """Send one event and plan the next; times are counted from the start, so none drifts."""
        following = next(events, None)
        end = b"" if following else b"0\r\n\r\n"
        self._transport.write(b"%x\r\n%b\r\n%b" % (len(event), event, end))
        if following:
            due = start + (index + 1) * period
            more = (events, following, index + 1, start, period)
            self._timer = self._loop.call_at(due, self._send, *more)


def _message(body: bytes, status: str = "200 OK") -> bytes:
    kind = "application/json; charset=utf-8" if body.startswith((b"{", b"[")) else "text/plain"
    head = (
        f"HTTP/1.1 {status}\r\nServer: llama.cpp\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def start(port: int, rate: float) -> asyncio.Server:
    """Listen on the loopback interface.

    Args:
        port: where; 0 for any free one.
        rate: events per second of each stream.
    """
    traffics = _Traffics()
    loop = asyncio.get_running_loop()
    make = partial(_Connection, traffics, rate)
    return await loop.create_server(make, "127.0.0.1", port, backlog=_BACKLOG)


async def _main(port: str, rate: str) -> None:
    await start(int(port), float(rate))
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)
    await ended.wait()


if __name__ == "__main__":
    uvloop.run(_main(*sys.argv[1:]))
