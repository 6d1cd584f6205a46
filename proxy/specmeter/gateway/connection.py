"""One connection to an upstream: requests go out, the answer is handed on as it arrives."""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from specmeter.gateway.failures import Reason, UpstreamError
from specmeter.gateway.http1 import (
    MAX_HEAD_BYTES,
    Body,
    CloseBody,
    Framing,
    Head,
    ProtocolError,
    body_of,
    parse_head,
)
from specmeter.gateway.last_head import LastHead


class Receiver(Protocol):
    """Takes an answer, in pieces and in order."""

    def on_head(self, head: Head, length: int) -> None:
        """Take the head and the length it announces; called once, before the rest."""

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

    __slots__ = (
        "_body",
        "_head",
        "_head_bytes",
        "_idle_seconds",
        "_last_head",
        "_receiver",
        "_to_head_request",
        "_transport",
        "_watch",
        "_writable",
        "_writing_paused",
        "idle_since",
        "last_active",
        "loop",
        "reading_paused",
        "request_sent",
        "reusable",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._transport: asyncio.Transport | None = None
        self._receiver: Receiver | None = None
        self._head: Head | None = None
        self._body: Body | None = None
        self._head_bytes = b""
        self._last_head: LastHead[Head] = LastHead()
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
        self._idle_seconds = 0.0
        self._watch: asyncio.TimerHandle | None = None

    # The request.

    def send(
        self,
        data: bytes,
        receiver: Receiver,
        *,
        to_head_request: bool,
        is_whole: bool,
        idle_seconds: float,
    ) -> None:
        """Begin a request; its answer goes to `receiver`.

        Args:
            data: The request, or its beginning.
            receiver: Takes the answer.
            to_head_request: Whether it asks for the head only.
            is_whole: Whether nothing of it is left to write.
            idle_seconds: The longest silence of the upstream; 0 for any.
        """
        self._receiver = receiver
        self._head = self._body = None
        self._head_bytes = b""
        self._to_head_request = to_head_request
        self.request_sent = is_whole
        self.reusable = False
        self.write(data)
        if idle_seconds:
            self._idle_seconds = idle_seconds
            self._watch = self.loop.call_later(idle_seconds, self._look_for_silence)

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
        self._stop_watching()
        if self._transport is not None:
            self._transport.abort()

    def fail(self, reason: Reason, text: str) -> None:
        """Give up on the answer and tell the receiver why."""
        receiver = self._receiver
        self.close()
        if receiver is not None:
            receiver.on_failure(UpstreamError(reason, text))

    def _look_for_silence(self) -> None:
        silent = 0.0 if self.waits_for_client else self.loop.time() - self.last_active
        if silent < self._idle_seconds:
            again = self._idle_seconds - silent
            self._watch = self.loop.call_later(again, self._look_for_silence)
            return
        self.fail(
            Reason.SILENT,
            f"was silent for {self._idle_seconds:g} s. Raise idle_seconds if it may take longer.",
        )

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    # The answer.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Hand on what came."""
        receiver, body = self._receiver, self._body
        if receiver is None:
            self.close()  # nobody asked: such a connection is not to be trusted
            return
        self.last_active = self.loop.time()
        if body is not None and (payload := body.whole(data)):
            receiver.on_body(data, payload)
            return
        try:
            if body is None:
                self._feed_head(data)
                return
            taken, payload = body.feed(data)
            if taken == len(data):
                receiver.on_body(data, payload)
            elif taken:
                receiver.on_body(data[:taken], payload)
            if body.ended:
                self._end(clean=taken == len(data))
            elif taken < len(data):
                body.feed(data[taken:])  # raises: the rest is broken
        except ProtocolError as error:
            self.fail(
                Reason.PROTOCOL, f"broke HTTP: {error}. Is it an HTTP server that listens there?"
            )

    def _feed_head(self, data: bytes) -> None:
        if not (self._head_bytes or self._to_head_request):
            known = self._last_head.find(data)
            if known is not None:
                self._begin(known.made, known.length or 0, data[known.end :])
                return
        block = self._head_bytes + data if self._head_bytes else data
        while (end := block.find(b"\r\n\r\n")) >= 0:
            if end > MAX_HEAD_BYTES:
                break
            head = parse_head(block[:end], to_head_request=self._to_head_request)
            if head.status >= 200:  # noqa: PLR2004
                if not self._to_head_request:
                    self._last_head.keep(block[: end + 4], head)
                self._begin(head, head.length, block[end + 4 :])
                return
            if head.status == 101:  # noqa: PLR2004
                raise ProtocolError("it switched protocols unasked")
            block = block[end + 4 :]
        if len(block) > MAX_HEAD_BYTES:
            raise ProtocolError(f"the head of its answer is longer than {MAX_HEAD_BYTES} bytes")
        self._head_bytes = block

    def _begin(self, head: Head, length: int, rest: bytes) -> None:
        receiver = self._receiver
        if receiver is None:
            return
        self._head = head
        receiver.on_head(head, length)
        if self._receiver is not receiver:
            return  # it does not want this answer
        if len(rest) == length and head.framing is Framing.LENGTH:
            if rest:
                receiver.on_body(rest, rest)
            self._end(clean=True)
            return
        self._body = body = body_of(head, length)
        if rest and not body.ended:
            taken, payload = body.feed(rest)
            receiver.on_body(rest[:taken], payload)
            rest = rest[taken:]
        if body.ended:
            self._end(clean=not rest)
            return
        receiver.on_pause()
        if rest:
            body.feed(rest)  # raises: the rest is broken

    def _end(self, *, clean: bool) -> None:
        """The answer is complete; `clean` if nothing came after it."""
        receiver, self._receiver = self._receiver, None
        if self._watch is not None:
            self._stop_watching()
        head = self._head
        # llama.cpp closes after a stream without saying so: the next request on it would meet the
        # closing, and may not be repeated.
        keep_alive = head is not None and head.keep_alive and not head.is_event_stream
        self.reusable = clean and keep_alive and self.request_sent
        if receiver is not None:
            receiver.on_end()

    def eof_received(self) -> None:
        """Take the upstream's end of transmission as the end of the connection."""

    def connection_lost(self, exc: Exception | None) -> None:
        """End or fail what was under way."""
        self._transport = None
        self.reusable = False
        self._stop_watching()
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
