"""The upstream of the benchmark: a cheap stand-in for llama-server, a process of its own.

`python -m tests.benchmarks.upstream PORT RATE` serves until its standard input ends, so it never
outlives the benchmark.
"""

import asyncio
import json
import sys
from typing import cast

import uvloop

from tests.benchmarks.http1 import MessageReader
from tests.benchmarks.traffic import Traffic

_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nX-Accel-Buffering: no\r\n"
    b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)

ANSWER_SECONDS = 0.01
"""What an answer takes that is not streamed.

No server answers at once; one that did would let the faster proxy work through several requests
for each time it wakes up, and the proxies would be compared at different loads.
"""


class _Connection(asyncio.Protocol):
    """Answers the requests of one connection, one after the other."""

    def __init__(self, traffic: Traffic, rate: float) -> None:
        self._traffic = traffic
        self._period = 1 / rate
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
        if method == "POST" and path == "/v1/chat/completions":
            self._complete(json.loads(body))
        else:
            page = self._traffic.pages.get(path)
            self._transport.write(_message(page) if page else _message(b"{}", "404 Not Found"))

    def _complete(self, request: dict[str, int]) -> None:
        if not request["stream"]:
            answer = _message(self._traffic.answer(request["seed"]))
            self._timer = self._loop.call_later(ANSWER_SECONDS, self._transport.write, answer)
            return
        events = self._traffic.events(request["seed"], request["max_tokens"])
        frames = [b"%x\r\n%b\r\n" % (len(event), event) for event in events]
        frames[-1] += b"0\r\n\r\n"
        self._transport.write(_STREAM_HEAD)
        self._send(frames, 0, self._loop.time())

    def _send(self, frames: list[bytes], index: int, start: float) -> None:
        """Send one event and plan the next; times are counted from the start, so none drifts."""
        self._transport.write(frames[index])
        if index + 1 < len(frames):
            due = start + (index + 1) * self._period
            self._timer = self._loop.call_at(due, self._send, frames, index + 1, start)


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
    traffic = Traffic()
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: _Connection(traffic, rate), "127.0.0.1", port)


async def _main(port: str, rate: str) -> None:
    await start(int(port), float(rate))
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)
    await ended.wait()


if __name__ == "__main__":
    uvloop.run(_main(*sys.argv[1:]))
