"""A real upstream that answers by script, and keeps what it was sent byte for byte."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

SECONDS = 10.0
"""No wait of a test takes longer, unless something hangs."""

Field = tuple[bytes, bytes]

LIST_OF_NOTHING = b'{"object":"list","data":[]}'


@dataclass
class Request:
    """A request as it came."""

    head: bytes
    """Up to and with the blank line."""
    raw_body: bytes = b""
    """With its framing."""
    body: bytes = b""

    @property
    def method(self) -> bytes:
        return self.head.split(b" ", 2)[0]

    @property
    def target(self) -> bytes:
        return self.head.split(b"\r\n", 1)[0].split(b" ", 1)[1].rsplit(b" ", 1)[0]

    @property
    def fields(self) -> list[Field]:
        """The headers in order: names as sent, values without blanks around."""
        lines = self.head[:-4].split(b"\r\n")[1:]
        return [(name, value.strip()) for name, _, value in (x.partition(b":") for x in lines)]

    def all(self, name: bytes) -> list[bytes]:
        """Return every value of a header."""
        return [value for key, value in self.fields if key.lower() == name.lower()]

    @property
    def is_specmeters(self) -> bool:
        """Whether specmeter asks this on its own account."""
        return any(b"aiohttp" in value for value in self.all(b"user-agent"))


class Call:
    """One request of one connection, for a script to answer."""

    def __init__(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.request = request
        self._reader = reader
        self._writer = writer
        self._body_read = False
        self.ended = False
        """Whether the connection is of no more use."""
        self.sent = 0
        """Bytes that the other side's system has taken."""

    async def body(self) -> bytes:
        """Read the request's body, if that was not done; return it without its framing."""
        if not self._body_read:
            self._body_read = True
            if self.request.all(b"transfer-encoding") == [b"chunked"]:
                await self._chunks()
            elif lengths := self.request.all(b"content-length"):
                self.request.raw_body = await self._reader.readexactly(int(lengths[0]))
                self.request.body = self.request.raw_body
        return self.request.body

    async def _chunks(self) -> None:
        raw, body = bytearray(), bytearray()
        while True:
            line = await self._reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            chunk = await self._reader.readexactly(size + 2) if size else b""
            raw += line + chunk
            body += chunk[:-2]
            if not size:
                while line != b"\r\n":
                    line = await self._reader.readuntil(b"\r\n")
                    raw += line
                break
        self.request.raw_body, self.request.body = bytes(raw), bytes(body)

    async def read_some(self, size: int) -> bytes:
        """Read a part of a body, raw."""
        self._body_read = True
        return await self._reader.read(size)

    async def send(self, *pieces: bytes) -> None:
        """Send pieces one by one: each leaves before the next is written."""
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()
            await asyncio.sleep(0)
            self.sent += len(piece)

    async def gone(self) -> None:
        """Wait until the other side has closed the connection."""
        self.ended = True
        try:
            async with asyncio.timeout(SECONDS):
                while await self._reader.read(65536):
                    pass
        except ConnectionError:
            return

    def close(self) -> None:
        """End the connection in good order."""
        self.ended = True
        self._writer.close()

    def reset(self) -> None:
        """Break the connection off: the other side gets a reset."""
        self.ended = True
        reset(self._writer)

    def limit_buffers(self) -> None:
        """Keep little in this process, so that `sent` tells what the other side took."""
        self._writer.transport.set_write_buffer_limits(65536)


Script = Callable[[Call], Awaitable[None]]


@dataclass
class ScriptedUpstream:
    """Listens on a port of its own and answers each path by its script.

    What specmeter asks on its own account is kept apart, unless the path has a script: its
    `/v1/models` is answered with `models`, any other page with 404.
    """

    script: Script | None = None
    """For all paths that have none of their own."""
    scripts: dict[str, Script] = field(default_factory=dict)
    models: bytes = LIST_OF_NOTHING
    port: int = 0
    """Where it listens; 0 takes any port that is free."""
    tls: ssl.SSLContext | None = None
    send_buffer: int = 0
    """Bytes that the system keeps of what is sent; 0 leaves it to the system."""
    receive_buffer: int = 0
    """Bytes that the system keeps of what comes; 0 leaves it to the system."""
    requests: list[Request] = field(default_factory=list)
    probes: list[Request] = field(default_factory=list)
    connections: int = 0
    """Connections on which requests came, specmeter's own left out."""
    url: str = ""

    async def __aenter__(self) -> Self:
        self._tasks: set[asyncio.Task[None]] = set()
        self._counted: set[asyncio.StreamWriter] = set()
        self._errors: list[Exception] = []
        listener = socket.create_server(("127.0.0.1", self.port), backlog=1024)
        limit_buffers(listener, send=self.send_buffer, receive=self.receive_buffer)
        self._server = await asyncio.start_server(
            self._connected, sock=listener, limit=2**20, ssl=self.tls, backlog=1024
        )
        scheme = "https" if self.tls else "http"
        self.url = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
        return self

    @property
    def open(self) -> int:
        """Those of `connections` that are open."""
        return len(self._counted)

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for error in self._errors:
            raise error

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the last one comes at the end of the test only
        except Exception as error:  # noqa: BLE001 - told at the end of the test
            self._errors.append(error)
        finally:
            self._counted.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether another may come."""
        request = Request(await reader.readuntil(b"\r\n\r\n"))
        call = Call(request, reader, writer)
        path = request.target.partition(b"?")[0].decode("utf-8", "surrogateescape")
        script = self.scripts.get(path)
        if script is None and request.is_specmeters:
            self.probes.append(request)
            known = path.endswith("/v1/models")
            await call.send(response(self.models) if known else response(b"{}", "404 Not Found"))
            return True
        self.requests.append(request)
        if writer not in self._counted:
            self._counted.add(writer)
            self.connections += 1
        script = script or self.script
        assert script is not None, f"nothing answers {path}"
        await script(call)
        if not call.ended:
            await call.body()
        return not call.ended


def limit_buffers(listener: socket.socket, *, send: int, receive: int) -> None:
    """Limit how many bytes the system keeps for each connection to a listener; 0 does not."""
    for buffer, size in ((socket.SO_SNDBUF, send), (socket.SO_RCVBUF, receive)):
        if size:
            listener.setsockopt(socket.SOL_SOCKET, buffer, size)


def reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with a reset instead of an end."""
    peer = writer.get_extra_info("socket")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def head(status: str = "200 OK", *fields: Field) -> bytes:
    """Return the head of a response."""
    lines = [f"HTTP/1.1 {status}".encode(), *(b"%b: %b" % item for item in fields)]
    return b"\r\n".join(lines) + b"\r\n\r\n"


JSON: Field = (b"Content-Type", b"application/json")
EVENTS: Field = (b"Content-Type", b"text/event-stream")
CHUNKED: Field = (b"Transfer-Encoding", b"chunked")


def response(body: bytes, status: str = "200 OK", *fields: Field) -> bytes:
    """Return a response with a length, JSON unless its headers say otherwise."""
    length = (b"Content-Length", b"%d" % len(body))
    return head(status, *(fields or (JSON,)), length) + body


def chunk(payload: bytes) -> bytes:
    """Frame one chunk; an empty one ends the body."""
    return b"%x\r\n%b\r\n" % (len(payload), payload)


def chunked(pieces: Iterable[bytes]) -> list[bytes]:
    """Frame a body, a chunk a piece."""
    return [*(chunk(piece) for piece in pieces if piece), b"0\r\n\r\n"]


def cut(data: bytes, how: str, seed: int = 0) -> list[bytes]:
    """Cut bytes into pieces: `whole`, `random`, or `bytes`."""
    if how == "whole":
        return [data]
    if how == "bytes":
        return [data[at : at + 1] for at in range(len(data))]
    dice = random.Random(seed)
    pieces = []
    while data:
        size = dice.choice((1, 2, 3, 7, 50, 300, 2000))
        pieces.append(data[:size])
        data = data[size:]
    return pieces


def cut_at(data: bytes, positions: list[int]) -> list[bytes]:
    """Cut bytes at these positions."""
    edges = [0, *sorted(position % (len(data) + 1) for position in positions), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def answer(*pieces: bytes) -> Script:
    """Make a script that reads the request and sends these bytes, piece by piece."""

    async def script(call: Call) -> None:
        await call.body()
        await call.send(*pieces)

    return script


def answer_and_close(*pieces: bytes) -> Script:
    """Make a script that sends these bytes and ends the connection in good order."""

    async def script(call: Call) -> None:
        await answer(*pieces)(call)
        call.close()

    return script


def answer_and_reset(*pieces: bytes) -> Script:
    """Make a script that sends these bytes and breaks off."""

    async def script(call: Call) -> None:
        await answer(*pieces)(call)
        await asyncio.sleep(0.05)  # a reset overtakes what is not read yet
        call.reset()

    return script


def event_stream(*pieces: bytes) -> Script:
    """Make a script that streams events, a chunk a piece."""
    return answer(head("200 OK", EVENTS, CHUNKED), *chunked(pieces))


def then_hang(*pieces: bytes) -> Script:
    """Send this, and then nothing more."""

    async def script(call: Call) -> None:
        await answer(*pieces)(call)
        await call.gone()

    return script


class Gate:
    """Streams a first event, and the rest once it is opened."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self, call: Call) -> None:
        await call.body()
        await call.send(head("200 OK", EVENTS, CHUNKED), chunk(b"data: 1\n\n"))
        gone = asyncio.create_task(call.gone())
        opened = asyncio.create_task(self.open.wait())
        await asyncio.wait((gone, opened), return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        opened.cancel()
        if self.open.is_set():
            await call.send(chunk(b"data: 2\n\n"), chunk(b""))
