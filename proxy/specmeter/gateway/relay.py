"""Hands an upstream's answer to the client, piece by piece, and copies it aside."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from specmeter import ndjson, sse
from specmeter.backends.injection import Undo
from specmeter.discreet import Discreet
from specmeter.gateway.body_filter import BodyFilter
from specmeter.gateway.connection import Connection
from specmeter.gateway.exchange import Ending, Exchange
from specmeter.gateway.failures import UpstreamError
from specmeter.gateway.http1 import Framing, Head
from specmeter.gateway.stream_filter import Filter, StreamFilter
from specmeter.transcript import BodyTranscript, StreamTranscript
from specmeter.unread import Unread

HOLDOUT_HEADER = b"x-specmeter-holdout"
"""Tells a client that the plain upstream answered instead, and which one that is."""

JSON_LINES = b"application/x-ndjson"
JSON = b"application/json"
OK = 200
_CHUNKED = b"Transfer-Encoding: chunked\r\n"


class Client(Protocol):
    """The connection to a client."""

    transport: asyncio.Transport | None
    writing_paused: bool
    """Whether the client is slow to take what was written."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest event, and the largest body that is no stream, that are read, in bytes."""

    event_bytes: int
    body_bytes: int


class Relay(Discreet, msgspec.Struct, eq=False):
    """Receives one answer for one client.

    In the common case a piece costs one write and one append: the upstream's framing is passed
    on as it is. `on_finished` is called when the answer has ended, with an `UpstreamError` if
    there was none.
    """

    _client: Client
    _connection: Connection
    exchange: Exchange
    _limits: Limits
    _http_1_0: bool
    keep_alive: bool
    _undo: Undo | None
    _on_finished: Callable[[Relay, UpstreamError | None], None]
    _filter: Filter | None = None
    _transcript: BodyTranscript | StreamTranscript | None = None
    _as_sent: bool = True
    """Whether the upstream's own framing goes to the client."""
    _rechunk: bool = False
    _waiting: Head | None = None
    """A head that waits until the length of its body is known."""
    _announced: int | None = None
    """The length that it had."""
    _ends_by_closing: bool = False
    """Whether the client can tell the answer's end only by the connection's."""
    _unsent_head: bytes = b""
    """Goes out with the first piece of the body, or with `on_pause`."""
    begun: bool = False
    """Whether the client gets this answer, and no other."""
    keeps_additions: bool = False
    """Whether what was asked for cannot be taken out, as the answer is compressed."""

    def on_head(self, head: Head, length: int) -> None:
        """Send the head on, unless the length that it announces is to change."""
        exchange = self.exchange
        exchange.answered_at = self._connection.last_active
        exchange.code = head.status
        if exchange.completion and head.status == OK:
            self._watch(head)
        self.begun = True
        if self._filter is None:
            self._send_head(head, length)
        elif isinstance(self._filter, BodyFilter) and head.framing is Framing.LENGTH:
            self._waiting = head
            self._announced = length
            self._as_sent = False
        else:
            self._send_reframed(head)

    def _send_head(self, head: Head, length: int) -> None:
        """Send the head of an answer whose body goes as it comes."""
        if head.framing is not Framing.CHUNKED:
            self._ends_by_closing = head.framing is Framing.CLOSE
            self._send_lines(head, head.with_length(length))
        elif self._http_1_0:
            self._send_reframed(head)
        else:
            self._send_lines(head, head.lines + _CHUNKED)

    def _send_reframed(self, head: Head) -> None:
        """Send the head of an answer whose body gets a framing of our own."""
        self._as_sent = False
        lines = head.without_length()
        if self._http_1_0:
            self._ends_by_closing = True
        else:
            self._rechunk = True
            lines += _CHUNKED
        self._send_lines(head, lines)

    def _send_lines(self, head: Head, lines: bytes) -> None:
        exchange = self.exchange
        if not head.has_request_id:
            lines += b"x-request-id: %b\r\n" % exchange.request_id
        self.keep_alive = self.keep_alive and not self._ends_by_closing
        if exchange.held_out_of:
            lines += b"%b: %b\r\n" % (HOLDOUT_HEADER, exchange.upstream.encode())
        if not self.keep_alive:
            lines += b"Connection: close\r\n"
        elif self._http_1_0:
            lines += b"Connection: keep-alive\r\n"
        self._unsent_head = lines + b"\r\n"
        exchange.forwarded_at = self._connection.loop.time()

    def _watch(self, head: Head) -> None:
        """Begin to copy a completion, and to filter it where something was asked for."""
        exchange = self.exchange
        if head.is_compressed:
            exchange.unread = Unread.COMPRESSED
            self.keeps_additions = self._undo is not None
            return
        limits = self._limits
        if head.is_event_stream or head.content_type.startswith(JSON_LINES):
            self._transcript = StreamTranscript(
                limits.event_bytes,
                sse if head.is_event_stream else ndjson,
                keeps_everything=exchange.replayable is not None,
            )
        else:
            self._transcript = BodyTranscript(limits.body_bytes)
        exchange.transcript = self._transcript
        if self._undo is None:
            return
        if head.is_event_stream:
            self._filter = StreamFilter(self._undo)
        elif head.content_type.startswith(JSON) and self._undo.extension:
            self._filter = BodyFilter(self._undo.extension, limits.body_bytes)

    @property
    def usage_unasked(self) -> bool | None:
        """Whether the stream ended with usage that nobody asked for; `None` if not watched."""
        if self._undo is None or not self._undo.watch_usage:
            return None
        return self._filter.usage_unasked if isinstance(self._filter, StreamFilter) else None

    def on_body(self, raw: bytes, payload: bytes) -> None:
        """Send a piece on, then copy it."""
        client = self._client
        if self._as_sent:
            if self._unsent_head:
                raw, self._unsent_head = self._unsent_head + raw, b""
            if (transport := client.transport) is not None:
                transport.write(raw)
        else:
            self._pass(payload if self._filter is None else self._filter.feed(payload))
        if payload and (transcript := self._transcript) is not None:
            transcript.append(payload, self._connection.last_active)
        if client.writing_paused:
            self._connection.pause_reading()

    def on_pause(self) -> None:
        """Nothing more has come for now."""
        if self._unsent_head:
            self._write(b"")

    def on_client_ready(self) -> None:
        """The client has taken what was written: go on."""
        self._connection.resume_reading()

    def on_end(self) -> None:
        """End the client's answer."""
        if not self._as_sent:
            self._pass_rest(b"" if self._filter is None else self._filter.flush())
            if self._rechunk:
                self._write(b"0\r\n\r\n")
        elif self._unsent_head:
            self._write(b"")
        self.exchange.ending = Ending.COMPLETE
        self._on_finished(self, None)

    def on_failure(self, failure: UpstreamError) -> None:
        """Break the client's answer off where the upstream's broke off."""
        self.keep_alive = False
        if not self.begun:
            self._on_finished(self, failure)
            return
        self.exchange.ending = Ending.UPSTREAM_FAILED
        self.exchange.failure = failure.reason
        rest = b"" if self._filter is None else self._filter.broken_off()
        self._pass_rest(rest, self._announced)
        self._break_off()
        self._on_finished(self, None)

    def _break_off(self) -> None:
        """Close without a clean end: what is missing stays missing."""
        transport = self._client.transport
        if transport is None:
            return
        if self._ends_by_closing and (sock := transport.get_extra_info("socket")) is not None:
            # Closing would be a clean end, so the connection is reset once all is sent.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.close()

    def _pass(self, payload: bytes) -> None:
        """Send on what the filter lets through."""
        if self._waiting is not None:
            if not payload:
                return
            head, self._waiting = self._waiting, None
            self._send_reframed(head)  # too long to be held: its length stays unknown
        self._write_payload(payload)

    def _pass_rest(self, rest: bytes, length: int | None = None) -> None:
        """Send on what the filter still held; `length` is announced instead of the rest's."""
        if self._waiting is not None:
            head, self._waiting = self._waiting, None
            self._send_lines(head, head.with_length(len(rest) if length is None else length))
        self._write_payload(rest)

    def _write(self, data: bytes) -> None:
        if self._unsent_head:
            data, self._unsent_head = self._unsent_head + data, b""
        transport = self._client.transport
        if transport is not None and data:
            transport.write(data)

    def _write_payload(self, payload: bytes) -> None:
        if payload and self._rechunk:
            self._write(b"%x\r\n%b\r\n" % (len(payload), payload))
        else:
            self._write(payload)
