"""A client without an HTTP library: it keeps the exact bytes, so that framing is seen."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

import orjson

from tests.scripted import SECONDS, Field, reset


@dataclass
class Answer:
    """A response as it came."""

    head: bytes = b""
    """Up to and with the blank line."""
    raw: bytes = b""
    """The body with its framing."""
    body: bytes = b""
    complete: bool = False
    """Whether the framing says that it is all there."""
    was_reset: bool = False
    """Whether the connection was broken off by a reset."""
    interim: list[bytes] = field(default_factory=list)
    """Heads of 1xx answers before it."""

    @property
    def status(self) -> int:
        return int(self.head.split(b" ", 2)[1])

    @property
    def fields(self) -> list[Field]:
        """The headers in order: names as sent, values without blanks around."""
        lines = self.head[:-4].split(b"\r\n")[1:]
        return [(name, value.strip()) for name, _, value in (x.partition(b":") for x in lines)]

    def all(self, name: bytes) -> list[bytes]:
        """Return every value of a header."""
        return [value for key, value in self.fields if key.lower() == name.lower()]

    @property
    def closes(self) -> bool:
        return self.all(b"connection") == [b"close"]

    @property
    def error(self) -> dict[str, Any]:
        """The error object, after checking that it has OpenAI's shape and says whose it is."""
        assert self.complete
        assert self.all(b"content-type")[0].startswith(b"application/json")
        document = orjson.loads(self.body)
        assert list(document) == ["error"]
        error: dict[str, Any] = document["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["message"].startswith("specmeter: ")
        assert error["type"] == ("server_error" if self.status >= 500 else "invalid_request_error")
        return error


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, url: str, *, receive_buffer: int = 0) -> Self:
        """Connect; a `receive_buffer` of some bytes makes a client that takes little unread."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        plug = socket.socket()
        if receive_buffer:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plug.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(plug, (parts.hostname, parts.port))
        except OSError:
            plug.close()
            raise
        return cls(*await asyncio.open_connection(sock=plug, limit=2**16))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._writer.transport.abort()  # what is unsent may never be taken
        await self.close()

    async def send(self, *pieces: bytes) -> None:
        """Send pieces one by one."""
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()
            await asyncio.sleep(0)

    async def read_until(self, end: bytes) -> bytes:
        """Read up to and with these bytes."""
        async with asyncio.timeout(SECONDS):
            return await self._reader.readuntil(end)

    async def read_exactly(self, size: int) -> bytes:
        async with asyncio.timeout(SECONDS):
            return await self._reader.readexactly(size)

    async def read_to_end(self) -> bytes:
        """Read until the other side ends or breaks the connection."""
        read = bytearray()
        async with asyncio.timeout(SECONDS):
            try:
                while piece := await self._reader.read(65536):
                    read += piece
            except ConnectionError:
                pass
        return bytes(read)

    async def answer(self, method: str = "GET") -> Answer:
        """Read one answer to its end, or to where it breaks off."""
        answer = Answer()
        raw, body = bytearray(), bytearray()
        async with asyncio.timeout(SECONDS):
            try:
                await self._read_head(answer)
                await self._read_body(answer, method, raw, body)
                answer.complete = True
            except asyncio.IncompleteReadError:
                pass
            except ConnectionError:
                answer.was_reset = True
        answer.raw, answer.body = bytes(raw), bytes(body)
        return answer

    async def _read_head(self, answer: Answer) -> None:
        answer.head = await self._reader.readuntil(b"\r\n\r\n")
        while answer.status < 200 and answer.status != 101:
            answer.interim.append(answer.head)
            answer.head = await self._reader.readuntil(b"\r\n\r\n")

    async def _read_body(
        self, answer: Answer, method: str, raw: bytearray, body: bytearray
    ) -> None:
        coding, lengths = answer.all(b"transfer-encoding"), answer.all(b"content-length")
        assert len(coding) + len(lengths) <= 1 or method == "HEAD", "ambiguous framing"
        if method == "HEAD" or answer.status in (204, 304):
            return
        if coding:
            assert coding == [b"chunked"]
            await self._read_chunks(raw, body)
        elif lengths:
            await self._read_onto(int(lengths[0]), raw, body)
        else:
            assert answer.closes, "no framing, and the connection stays open"
            while piece := await self._reader.read(65536):
                raw += piece
                body += piece

    async def _read_onto(self, size: int, *targets: bytearray) -> None:
        """Read so many bytes, and keep what comes of them."""
        while size:
            piece = await self._reader.read(min(size, 65536))
            if not piece:
                raise asyncio.IncompleteReadError(b"", size)
            size -= len(piece)
            for target in targets:
                target.extend(piece)

    async def _read_chunks(self, raw: bytearray, body: bytearray) -> None:
        while True:
            line = await self._line(raw)
            size = int(line.partition(b";")[0], 16)
            if not size:
                break
            await self._read_onto(size, raw, body)
            assert await self._line(raw) == b"\r\n"
        while await self._line(raw) != b"\r\n":  # trailers
            pass

    async def _line(self, raw: bytearray) -> bytes:
        try:
            line = await self._reader.readuntil(b"\r\n")
        except asyncio.IncompleteReadError as error:
            raw += error.partial
            raise
        raw += line
        return line

    async def ended(self) -> bool:
        """Wait for the other side to end the connection; tell whether nothing came before."""
        return await self.read_to_end() == b""

    def shut(self) -> None:
        """Send no more, but go on reading."""
        self._writer.write_eof()

    def reset(self) -> None:
        """Leave with a reset."""
        reset(self._writer)

    async def close(self) -> None:
        """Leave in good order."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


def request(
    method: str,
    target: str | bytes,
    *fields: Field,
    body: bytes | None = None,
    version: str = "1.1",
) -> bytes:
    """Return a request's bytes; a body is announced by its length."""
    path = target.encode() if isinstance(target, str) else target
    lines = [b"%b %b HTTP/%b" % (method.encode(), path, version.encode()), b"Host: proxy.test"]
    lines += [b"%b: %b" % item for item in fields]
    if body is not None:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")


async def ask(
    url: str,
    method: str,
    target: str | bytes,
    *fields: Field,
    body: bytes | None = None,
    version: str = "1.1",
) -> Answer:
    """Send one request on a connection of its own; return the answer."""
    async with await Client.connect(url) as client:
        await client.send(request(method, target, *fields, body=body, version=version))
        return await client.answer(method)


CHAT = "/v1/chat/completions"
CHAT_BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
STREAM_BODY = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}'


async def chat(url: str, body: bytes = CHAT_BODY, *fields: Field) -> Answer:
    """Ask for a chat completion."""
    return await ask(url, "POST", CHAT, (b"Content-Type", b"application/json"), *fields, body=body)
