"""One client's connection: its requests are answered one after the other, in order."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, cast

from specmeter.gateway.answers import own_answer
from specmeter.gateway.failures import error_body
from specmeter.gateway.incoming import BadRequestError, Request, RequestParser
from specmeter.gateway.upload import Upload

if TYPE_CHECKING:
    from specmeter.gateway.relay import Relay

MAX_WAITING_REQUESTS = 16
"""How many requests of a client that sends without waiting are taken before it has to."""


class Owner(Protocol):
    """What a client's connection belongs to."""

    loop: asyncio.AbstractEventLoop

    def answer(self, request: Request, upload: Upload, client: DataProtocol) -> None:
        """Begin to answer a request; `client.answered` is called once that has ended."""

    def count_bad_request(self, status: int) -> None:
        """Count what was no request."""

    def opened(self, client: DataProtocol) -> None:
        """A client has connected."""

    def closed(self, client: DataProtocol) -> None:
        """Its connection is gone, and nothing is done for it any more."""


class DataProtocol(asyncio.Protocol):
    """One client's connection."""

    __slots__ = (
        "_bad",
        "_owner",
        "_parser",
        "_reading_paused",
        "busy",
        "ends",
        "head_since",
        "loop",
        "on_left",
        "relay",
        "since",
        "transport",
        "writing_paused",
    )

    def __init__(self, owner: Owner) -> None:
        self.loop = owner.loop
        self._owner = owner
        self._parser = RequestParser(self)
        self._bad: BadRequestError | None = None
        """What came after the last request and was none."""
        self._reading_paused = False
        self.transport: asyncio.Transport | None = None
        self.writing_paused = False
        """Whether the client is slow to take what was written."""
        self.busy = False
        """Whether a request is being answered."""
        self.relay: Relay | None = None
        """The answer that is being handed on."""
        self.on_left: Callable[[], object] | None = None
        """Ends the answer that is under way: there is nobody to take it."""
        self.ends = False
        """Whether it is being closed, and nothing more is taken from it."""
        self.since = owner.loop.time()
        """When it was opened, last got its answer, or began to end (on the loop's clock)."""
        self.head_since: float | None = None
        """When the first part of a head came whose rest has not."""

    @property
    def is_idle(self) -> bool:
        """Whether it may be closed without cutting anybody off."""
        return not (self.busy or self._parser.requests)

    @property
    def is_unused(self) -> bool:
        """Whether it is idle, and nothing is on its way: no part of a request or of an answer."""
        return (
            not (self.busy or self.ends)
            and self._parser.is_between_requests
            and self.transport is not None
            and not self.transport.get_write_buffer_size()
        )

    # What comes.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)
        if (plug := transport.get_extra_info("socket")) is not None:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        if self.ends:
            return
        parser = self._parser
        try:
            parser.feed(data)
        except BadRequestError as error:
            self._bad = error
        if not parser.in_head:
            self.head_since = None
        elif self.head_since is None:
            self.head_since = self.loop.time()
        if not self.busy:
            self._advance()
        if len(parser.requests) > MAX_WAITING_REQUESTS:
            self.pause_reading()

    def eof_received(self) -> None:
        """Take a client that will send no more for one that has left."""

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """End what was under way."""
        self.transport = None
        if self.on_left is not None:
            self.on_left()
        if not self.busy:
            self._owner.closed(self)

    def pause_reading(self) -> None:
        """Let the client wait."""
        if self.transport is not None and not self._reading_paused:
            self._reading_paused = True
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on after `pause_reading`."""
        if self.transport is not None and self._reading_paused:
            self._reading_paused = False
            self.transport.resume_reading()

    # What goes.

    def write(self, data: bytes) -> None:
        """Write; bytes for a client that has left are dropped."""
        if self.transport is not None:
            self.transport.write(data)

    def pause_writing(self) -> None:
        """Note that the client is slow to take what was written."""
        self.writing_paused = True

    def resume_writing(self) -> None:
        """The client has caught up: go on."""
        self.writing_paused = False
        if self.relay is not None:
            self.relay.on_client_ready()
        self._advance()

    def answered(self, *, keep_alive: bool) -> None:
        """The answer has ended; `keep_alive` if the client may get another one."""
        self.busy = False
        self.on_left = None
        if self.transport is None:
            self._owner.closed(self)
            return
        if not keep_alive:
            self.end()
            return
        self.since = self.loop.time()
        if self._reading_paused and len(self._parser.requests) <= MAX_WAITING_REQUESTS:
            self.resume_reading()
        if self._parser.requests or self._bad is not None:
            self.loop.call_soon(self._advance)

    def end(self, *, unread: bool = False) -> None:
        """Close once all is written, in a way that lets the client read it to its end.

        Args:
            unread: Whether something may have come that was not looked at.
        """
        transport = self.transport
        if self.ends or transport is None or transport.is_closing():
            return
        self.ends = True
        self.since = self.loop.time()
        self._parser.requests.clear()
        is_clean = self._parser.is_between_requests and not unread
        if is_clean or not transport.can_write_eof():
            transport.close()
            return
        # To close while something is unread would reset the connection, and that overtakes what
        # is on its way to the client.
        transport.write_eof()
        self.resume_reading()

    def refuse(self, status: int, text: str, code: str = "bad_request") -> None:
        """Answer what is no request, or not looked at, and close."""
        self._owner.count_bad_request(status)
        self.write(own_answer(status, error_body(status, text, code), error=code))
        self.end(unread=True)

    def _advance(self) -> None:
        """Go on to the next request, unless the client is slow to take the last answer."""
        requests = self._parser.requests
        while not (self.busy or self.writing_paused or self.ends) and self.transport is not None:
            if requests:
                self.busy = True
                self._owner.answer(*requests.popleft(), self)
            elif self._bad is not None:
                self.refuse(400, f"the request is malformed: {self._bad}")
            else:
                return
