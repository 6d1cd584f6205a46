"""Hands an upstream's answer to the client, piece by piece, and copies it aside."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Protocol

from specmeter import ndjson, sse
from specmeter.backends.injection import Undo
from specmeter.gateway.body_filter import BodyFilter
from specmeter.gateway.connection import Connection
from specmeter.gateway.exchange import Ending, Exchange
from specmeter.gateway.failures import UpstreamError
from specmeter.gateway.http1 import Field, Framing, Head
from specmeter.gateway.stream_filter import Filter, StreamFilter
from specmeter.transcript import Transcript, Unread

HOLDOUT_HEADER = b"x-specmeter-holdout"
"""Tells a client that the plain upstream answered instead, and which one that is."""

JSON_LINES = b"application/x-ndjson"
JSON = b"application/json"
OK = 200
_LENGTH = b"content-length"
_CHUNKED: Field = (b"Transfer-Encoding", b"chunked")


class Client(Protocol):
    """The connection to a client."""

    transport: asyncio.Transport | None

    @property
    def writing_paused(self) -> bool:
        """Whether the client is slow to take what was written."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of an answer is copied for reading, in bytes."""

    tail_bytes: int
    body_bytes: int


class Relay:
    """Receives one answer for one client.

    In the common case a piece costs one write and one append: the upstream's framing is passed
    on as it is. `finished` is set when the answer has ended, with an `UpstreamError` if there
    was none.
    """

    def __init__(
        self,
        client: Client,
        connection: Connection,
        exchange: Exchange,
        limits: Limits,
        *,
        http_1_0: bool,
        keep_alive: bool,
        undo: Undo | None,
    ) -> None:
        self._client = client
        self._connection = connection
        self.exchange = exchange
        self._limits = limits
        self._http_1_0 = http_1_0
        self._undo = undo
        self._filter: Filter | None = None
        self._loop = connection.loop
        self._transcript: Transcript | None = None
        self._as_sent = True
        """Whether the upstream's own framing goes to the client."""
        self._rechunk = False
        self._waiting: Head | None = None
        """A head that waits until the length of its body is known."""
        self._ends_by_closing = False
        """Whether the client can tell the answer's end only by the connection's."""
        self._unsent_head = b""
        """Goes out with the first piece of the body, or with `on_pause`."""
        self.begun = False
        """Whether the client gets this answer, and no other."""
        self.keep_alive = keep_alive
        self.finished: asyncio.Future[None] = self._loop.create_future()

    def on_head(self, head: Head) -> None:
        """Send the head on, unless the length that it announces is to change."""
        exchange = self.exchange
        exchange.answered_at = self._loop.time()
        exchange.code = head.status
        self._watch(head)
        self.begun = True
        if isinstance(self._filter, BodyFilter) and head.framing is Framing.LENGTH:
            self._waiting = head
            self._as_sent = False
        else:
            self._send_head(head)

    def _send_head(self, head: Head, length: int | None = None) -> None:
        """Send the head on, and decide how the body goes; `length` is that of a changed one."""
        exchange = self.exchange
        fields = list(head.fields)
        untouched = self._filter is None
        if length is not None:
            fields = [_with_length(field, length) for field in fields]
        elif untouched and head.framing is Framing.CLOSE:
            self._ends_by_closing = True
        elif untouched and head.framing is Framing.CHUNKED and not self._http_1_0:
            fields.append(_CHUNKED)
        elif not untouched or head.framing is Framing.CHUNKED:
            self._as_sent = False
            fields = [field for field in fields if field[0].lower() != _LENGTH]
            if self._http_1_0:
                self._ends_by_closing = True
            else:
                self._rechunk = True
                fields.append(_CHUNKED)
        self.keep_alive = self.keep_alive and not self._ends_by_closing
        if head.get(b"x-request-id") is None:
            fields.append((b"x-request-id", exchange.request_id.encode("utf-8", "surrogateescape")))
        if exchange.held_out_of:
            fields.append((HOLDOUT_HEADER, exchange.upstream.encode()))
        self._unsent_head = _head_bytes(head, fields, self._http_1_0, self.keep_alive)
        exchange.forwarded_at = self._loop.time()

    def _watch(self, head: Head) -> None:
        """Begin to copy, and to filter, if the answer is a completion's."""
        exchange = self.exchange
        if not exchange.completion or head.status != OK:
            return
        if (head.get(b"content-encoding") or b"identity").lower() != b"identity":
            exchange.unread = Unread.COMPRESSED
            return
        limits = self._limits
        if head.is_event_stream or head.content_type.startswith(JSON_LINES):
            framing = sse if head.is_event_stream else ndjson
            copy = Transcript(streamed=True, limit=limits.tail_bytes, framing=framing)
        else:
            copy = Transcript(streamed=False, limit=limits.body_bytes)
        exchange.transcript = self._transcript = copy
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
        if self._as_sent:
            self._write(raw)
        else:
            self._pass(payload if self._filter is None else self._filter.feed(payload))
        if self._transcript is not None and payload:
            self._transcript.append(payload, self._loop.time())
        if self._client.writing_paused:
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
        self._pass_rest()
        if self._rechunk:
            self._write(b"0\r\n\r\n")
        self.exchange.ending = Ending.COMPLETE
        self._finish()

    def on_failure(self, failure: UpstreamError) -> None:
        """Break the client's answer off where the upstream's broke off."""
        self.keep_alive = False
        if not self.begun:
            if not self.finished.done():
                self.finished.set_exception(failure)
            return
        self.exchange.ending = Ending.UPSTREAM_FAILED
        self.exchange.failure = failure.reason
        self._pass_rest(self._waiting.length if self._waiting else None)
        self._break_off()
        self._finish()

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
            self._send_head(head)  # the body is too long to be held: its length stays unknown
        self._write_payload(payload)

    def _pass_rest(self, length: int | None = None) -> None:
        """Send on what the filter still holds; `length` is announced instead of the rest's."""
        rest = b"" if self._filter is None else self._filter.flush()
        if self._waiting is not None:
            head, self._waiting = self._waiting, None
            self._send_head(head, len(rest) if length is None else length)
        self._write_payload(rest)

    def _finish(self) -> None:
        if not self.finished.done():
            self.finished.set_result(None)

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


def _with_length(field: Field, length: int) -> Field:
    return (field[0], b"%d" % length) if field[0].lower() == _LENGTH else field


def _head_bytes(head: Head, fields: list[Field], http_1_0: bool, keep_alive: bool) -> bytes:
    lines = [b"HTTP/1.1 %d %b\r\n" % (head.status, head.reason)]
    lines += [b"%b: %b\r\n" % field for field in fields]
    if not keep_alive:
        lines.append(b"Connection: close\r\n")
    elif http_1_0:
        lines.append(b"Connection: keep-alive\r\n")
    lines.append(b"\r\n")
    return b"".join(lines)
