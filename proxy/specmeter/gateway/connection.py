"""One connection to an upstream: requests go out, the answer is handed on as it arrives."""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from specmeter.gateway.failures import Reason, UpstreamError
from specmeter.gateway.http1 import (
    MAX_HEAD_BYTES,
    Body,
    CloseBody,
    Head,
    ProtocolError,
    body_of,
    parse_head,
)


class Receiver(Protocol):
    """Takes an answer, in pieces and in order."""

    def on_head(self, head: Head) -> None:
        """Take the head; called once, before the rest."""

    def on_body(self, raw: bytes, payload: bytes) -> None:
        """Take a piece of the body: as it was sent, and without its framing."""

    def on_pause(self) -> None:
        """Nothing more has come for now: what was kept back for the body has to go."""

    def on_end(self) -> None:
        """The answer is complete."""

    def on_failure(self, failure: UpstreamError) -> None:
        """The answer will never be complete."""


class Connection(asyncio.Protocol):
    """A connection that carries one request at a time.

    `idle_since` is when it was last handed back (seconds on the loop's clock).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._transport: asyncio.Transport | None = None
        self._receiver: Receiver | None = None
        self._head: Head | None = None
        self._body: Body | None = None
        self._head_bytes = b""
        self._to_head_request = False
        self._writable: asyncio.Future[None] | None = None
        self._writing_paused = False
        self.request_sent = False
        """Whether the whole request is out; an answer may end before it is."""
        self.reusable = False
        """Whether the last answer left the connection fit for another request."""
        self.idle_since = 0.0
        self.last_active = 0.0
        """When bytes last came or went (seconds on the loop's clock)."""
        self.reading_paused = False

    # The request.

    def send(self, head: bytes, receiver: Receiver, *, to_head_request: bool) -> None:
        """Begin a request; its answer goes to `receiver`."""
        self._receiver = receiver
        self._head = self._body = None
        self._head_bytes = b""
        self._to_head_request = to_head_request
        self.request_sent = self.reusable = False
        self.write(head)

    def write(self, data: bytes) -> None:
        """Write a part of the request; bytes for a closed connection are dropped."""
        self.last_active = self.loop.time()
        if self._transport is not None:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the upstream has taken what was written, or is gone."""
        if self._writing_paused and self._transport is not None:
            self._writable = self.loop.create_future()
            await self._writable

    def end_request(self) -> None:
        """Note that the whole request is out: now it is the upstream's turn."""
        self.request_sent = True
        self.last_active = self.loop.time()

    @property
    def waits_for_client(self) -> bool:
        """Whether it is the client that is slow: to take the answer, or to send its request."""
        return self.reading_paused or not (self.request_sent or self._writing_paused)

    def pause_reading(self) -> None:
        """Let the upstream wait: the client is slower."""
        if self._transport is not None and not self.reading_paused:
            self.reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on after `pause_reading`."""
        self.last_active = self.loop.time()
        if self._transport is not None and self.reading_paused:
            self.reading_paused = False
            self._transport.resume_reading()

    @property
    def is_open(self) -> bool:
        """Whether a request can still be written."""
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Close; what an upstream generates for it, it stops generating."""
        self._receiver = None
        if self._transport is not None:
            self._transport.abort()

    def fail(self, reason: Reason, text: str) -> None:
        """Give up on the answer and tell the receiver why."""
        receiver = self._receiver
        self.close()
        if receiver is not None:
            receiver.on_failure(UpstreamError(reason, text))

    # The answer.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Hand on what came."""
        if self._receiver is None:
            self.close()  # nobody asked: such a connection is not to be trusted
            return
        self.last_active = self.loop.time()
        try:
            if self._body is None:
                self._feed_head(data)
            else:
                self._feed_body(self._body, data)
        except ProtocolError as error:
            self.fail(
                Reason.PROTOCOL, f"broke HTTP: {error}. Is it an HTTP server that listens there?"
            )

    def _feed_head(self, data: bytes) -> None:
        block = self._head_bytes + data if self._head_bytes else data
        while (end := block.find(b"\r\n\r\n")) >= 0:
            head = parse_head(block[:end], to_head_request=self._to_head_request)
            block = block[end + 4 :]
            if head.status >= 200:  # noqa: PLR2004
                self._begin(head, block)
                return
            if head.status == 101:  # noqa: PLR2004
                raise ProtocolError("it switched protocols unasked")
        if len(block) > MAX_HEAD_BYTES:
            raise ProtocolError(f"the head of its answer is longer than {MAX_HEAD_BYTES} bytes")
        self._head_bytes = block

    def _begin(self, head: Head, rest: bytes) -> None:
        self._head = head
        self._body = body = body_of(head)
        if self._receiver is not None:
            self._receiver.on_head(head)
        if body.ended:
            self._end(clean=not rest)
        elif rest:
            self._feed_body(body, rest)
        if self._receiver is not None:
            self._receiver.on_pause()

    def _feed_body(self, body: Body, data: bytes) -> None:
        taken, payload = body.feed(data)
        whole = taken == len(data)
        if taken and self._receiver is not None:
            self._receiver.on_body(data if whole else data[:taken], payload)
        if body.ended:
            self._end(clean=whole)

    def _end(self, *, clean: bool) -> None:
        """The answer is complete; `clean` if nothing came after it."""
        receiver, self._receiver = self._receiver, None
        head = self._head
        # llama.cpp closes after a stream without saying so: the next request on it would meet the
        # closing, and may not be repeated.
        keep_alive = head is not None and head.keep_alive and not head.is_event_stream
        self.reusable = clean and keep_alive and self.request_sent and self.is_open
        if receiver is not None:
            receiver.on_end()

    def eof_received(self) -> None:
        """Take the upstream's end of transmission as the end of the connection."""

    def connection_lost(self, exc: Exception | None) -> None:
        """End or fail what was under way."""
        self._transport = None
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        if self._receiver is None:
            return
        if isinstance(self._body, CloseBody) and exc is None:
            self._end(clean=False)
        elif self._body is None:
            self.fail(
                Reason.CLOSED_EARLY,
                "closed the connection before it answered. Its log may say why.",
            )
        else:
            self.fail(
                Reason.BROKEN_OFF, "broke off in the middle of its answer. Its log may say why."
            )

    def pause_writing(self) -> None:
        """Note that the upstream is slow to take the request."""
        self._writing_paused = True

    def resume_writing(self) -> None:
        """Go on writing."""
        self._writing_paused = False
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
