"""A request's body on its way to the upstream."""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec

from specmeter.discreet import Discreet
from specmeter.gateway.connection import Connection

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

MAX_WAITING_BYTES = 256 * 1024
"""How much of a body waits for the upstream before the client has to."""


class BrokenUploadError(Exception):
    """The body that came is none; the text says why, without the client's bytes."""


class Source(Protocol):
    """The connection that a body comes from."""

    loop: asyncio.AbstractEventLoop

    def write(self, data: bytes) -> None:
        """Write to the client."""

    def pause_reading(self) -> None:
        """Let the client wait."""

    def resume_reading(self) -> None:
        """Go on after `pause_reading`."""


class Upload(Discreet, msgspec.Struct, eq=False):
    """Sends a body on as it comes, after looking at its beginning if that is wanted."""

    _source: Source
    chunked: bool
    length: int | None
    complete: bool = False
    """Whether `begun` is all that is left to send."""
    _pieces: list[bytes] = []
    _size: int = 0
    expects_continue: bool = False
    """Whether the client waits for leave to send it."""
    _all_may_wait: bool = False
    _broken: BrokenUploadError | None = None
    _more: asyncio.Future[None] | None = None

    @classmethod
    def whole(cls, source: Source, length: int | None, body: bytes) -> Upload:
        """Return one whose body is here; without a length there is none."""
        return cls(source, False, length, True, [body] if body else [], len(body))

    @property
    def is_announced(self) -> bool:
        """Whether there is a body, be it an empty one."""
        return self.chunked or self.length is not None

    @property
    def begun(self) -> bytes:
        """What has come and is not yet sent."""
        if len(self._pieces) != 1:
            self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    # What comes.

    def feed(self, piece: bytes) -> None:
        """Take a piece of the body."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > MAX_WAITING_BYTES and not self._all_may_wait:
            self._source.pause_reading()
        if self._more is not None:
            self._wake()

    def end(self) -> None:
        """The body is complete."""
        self.complete = True
        if self._more is not None:
            self._wake()

    def fail(self, error: BrokenUploadError) -> None:
        """The body will never be complete; who reads it gets the error."""
        self._broken = error
        self._wake()

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    # What goes.

    def take(self) -> None:
        """See what has come already, for most requests that is all; ask for the rest.

        Raises:
            BrokenUploadError: The body is broken.
        """
        if self._broken is not None:
            raise self._broken
        if self.expects_continue and not (self.complete or self._pieces):
            self._source.write(CONTINUE)
        self.expects_continue = False

    async def collect(self, limit: int | None) -> bool:
        """Wait until all is there; return whether it is. Stops at `limit` bytes."""
        self.take()
        self._all_may_wait = True
        while not self.complete and (limit is None or self._size <= limit):
            await self._something()
        self._all_may_wait = False
        return self.complete

    def replace(self, body: bytes) -> None:
        """Send another body instead; the whole one has to be there."""
        self._pieces = [body]
        self._size = len(body)
        self.chunked = False
        self.length = len(body)

    def first_piece(self) -> bytes:
        """Return what can go out with the head."""
        return self._framed(self._taken(), last=self.complete)

    async def send_rest(self, connection: Connection) -> None:
        """Send what is still to come; waits for both sides.

        Raises:
            BrokenUploadError: The body is broken.
        """
        last = False
        while not last:
            if not (self._pieces or self.complete):
                await self._something()
            last = self.complete
            connection.write(self._framed(self._taken(), last=last))
            await connection.drain()
        connection.end_request()

    async def _something(self) -> None:
        """Wait for more, or for the end."""
        if self._broken is None:
            self._source.resume_reading()
            self._more = self._source.loop.create_future()
            await self._more
        if self._broken is not None:
            raise self._broken

    def _taken(self) -> bytes:
        pieces = self._pieces
        piece = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._pieces = []
        if self._size > MAX_WAITING_BYTES:
            self._source.resume_reading()
        self._size = 0
        return piece

    def _framed(self, piece: bytes, *, last: bool) -> bytes:
        if not self.chunked:
            return piece
        chunk = b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""
        return chunk + b"0\r\n\r\n" if last else chunk
