"""Reads one answer piece by piece, so that a client may leave in the middle of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

_PIECE = 65536
_SLOW_PIECE = 16384
_SLOW_PAUSE = 0.005  # seconds


class Inbox:
    """An answer as it arrives.

    Args:
        reader: Of the connection.
        slow: Whether to take pieces with pauses.
    """

    def __init__(self, reader: asyncio.StreamReader, *, slow: bool = False) -> None:
        self._reader = reader
        self._slow = slow
        self._left = 0
        """Bytes to come of the body with a length, or of the chunk with the line end behind it."""
        self.head = b""
        self.interim = 0
        """Heads of 1xx answers that came before."""
        self.body = bytearray()
        self.complete = False
        """Whether the framing says that it is all there."""
        self.ended = False
        """Whether nothing more will come of it."""
        self.was_reset = False

    @property
    def status(self) -> int | None:
        """`None` if there was no head."""
        return int(self.head.split(b" ", 2)[1]) if self.head else None

    def all(self, name: bytes) -> list[bytes]:
        """Return every value of a header."""
        lines = self.head[:-4].split(b"\r\n")[1:]
        fields = [
            (key.lower(), value.strip()) for key, _, value in (x.partition(b":") for x in lines)
        ]
        return [value for key, value in fields if key == name]

    @property
    def stays_open(self) -> bool:
        """Whether another request may be sent."""
        kept = self.all(b"connection") != [b"close"]
        return self.complete and self.head.startswith(b"HTTP/1.1") and kept

    async def read_interim(self) -> None:
        """Read one head, a 1xx answer's; any other is kept as the answer's."""
        await self._guarded(self._read_one_head())

    async def read_head(self) -> None:
        """Read up to the head of the answer, or to where the connection ends."""
        while not (self.head or self.ended):
            await self._guarded(self._read_one_head())

    async def read(self, at_least: int | None = None) -> None:
        """Read so many bytes of the body, or all of it."""
        await self.read_head()
        while not self.ended and (at_least is None or len(self.body) < at_least):
            await self._guarded(self._read_piece())

    async def _guarded(self, reading: Awaitable[None]) -> None:
        try:
            await reading
        except asyncio.IncompleteReadError:
            self.ended = True
        except ConnectionError:
            self.ended = self.was_reset = True

    async def _read_one_head(self) -> None:
        head = await self._reader.readuntil(b"\r\n\r\n")
        if head.split(b" ", 2)[1].startswith(b"1"):
            self.interim += 1
            return
        self.head = head
        if lengths := self.all(b"content-length"):
            self._left = int(lengths[0])
            self.complete = self.ended = not self._left

    async def _read_piece(self) -> None:
        if self._slow:
            await asyncio.sleep(_SLOW_PAUSE)
        if self.all(b"transfer-encoding"):
            await self._read_of_chunks()
        elif self.all(b"content-length"):
            self._left -= await self._take(self._left)
            self.complete = self.ended = not self._left
        else:
            try:
                await self._take(_PIECE)
            except asyncio.IncompleteReadError:
                self.complete = self.ended = True

    async def _read_of_chunks(self) -> None:
        if self._left > 2:
            self._left -= await self._take(self._left - 2)
        elif self._left:
            assert await self._reader.readexactly(2) == b"\r\n"
            self._left = 0
        else:
            line = await self._reader.readuntil(b"\r\n")
            size = int(line.partition(b";")[0], 16)
            self._left = size + 2 if size else 0
            if not size:
                while await self._reader.readuntil(b"\r\n") != b"\r\n":
                    pass  # trailers
                self.complete = self.ended = True

    async def _take(self, most: int) -> int:
        """Read some bytes of the body, at least one.

        Raises:
            asyncio.IncompleteReadError: The connection ended.
        """
        piece = await self._reader.read(min(most, _SLOW_PIECE if self._slow else _PIECE))
        if not piece:
            raise asyncio.IncompleteReadError(b"", most)
        self.body += piece
        return len(piece)
