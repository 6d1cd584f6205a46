"""A request's body on its way to the upstream."""

from __future__ import annotations

from aiohttp.web import BaseRequest

from specmeter.gateway.connection import Connection

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Upload:
    """Sends a body on as it comes, after looking at its beginning if that is wanted."""

    def __init__(self, request: BaseRequest) -> None:
        self._content = request.content
        self.chunked = request.body_exists and "Transfer-Encoding" in request.headers
        self.length = None if self.chunked else request.content_length
        self.begun = b""
        """What has been read and not yet sent."""
        self.complete = not request.body_exists
        """Whether `begun` is all that is left to send."""
        self._expects_continue = request.headers.get("Expect", "").lower() == "100-continue"
        self._transport = request.transport

    def take(self) -> None:
        """Take what has come already: for most requests that is all."""
        if not self.complete:
            self.begun += self._content.read_nowait(-1)
            self.complete = self._content.at_eof()
            if not self.complete and self._expects_continue and self._transport is not None:
                self._expects_continue = False
                self._transport.write(CONTINUE)

    async def collect(self, limit: int | None) -> bool:
        """Read on until all is there; return whether it is. Stops at `limit` bytes."""
        self.take()
        pieces = [self.begun]
        size = len(self.begun)
        while not self.complete and (limit is None or size <= limit):
            piece = await self._content.readany()
            pieces.append(piece)
            size += len(piece)
            self.complete = self._content.at_eof()
        self.begun = b"".join(pieces)
        return self.complete

    def replace(self, body: bytes) -> None:
        """Send another body instead; the whole one has to be there."""
        self.begun = body
        self.chunked = False
        self.length = len(body)

    def first_piece(self) -> bytes:
        """Return what can go out with the head."""
        piece, self.begun = self.begun, b""
        return self._framed(piece, last=self.complete)

    async def send_rest(self, connection: Connection) -> None:
        """Send what is still to come; waits for both sides."""
        while not self.complete:
            piece = await self._content.readany()
            self.complete = self._content.at_eof()
            connection.write(self._framed(piece, last=self.complete))
            await connection.drain()
        connection.end_request()

    def _framed(self, piece: bytes, *, last: bool) -> bytes:
        if not self.chunked:
            return piece
        chunk = b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""
        return chunk + b"0\r\n\r\n" if last else chunk
