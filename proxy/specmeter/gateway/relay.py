"""Hands an upstream's answer to the client, piece by piece, and copies it aside."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Protocol

from specmeter.gateway.connection import Connection
from specmeter.gateway.exchange import Ending, Exchange
from specmeter.gateway.failures import UpstreamError
from specmeter.gateway.http1 import Field, Framing, Head
from specmeter.gateway.stream_filter import UsageFilter
from specmeter.transcript import Transcript, Unread

OK = 200
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
        usage_filter: UsageFilter | None,
    ) -> None:
        self._client = client
        self._connection = connection
        self.exchange = exchange
        self._limits = limits
        self._http_1_0 = http_1_0
        self._filter = usage_filter
        self._loop = connection.loop
        self._transcript: Transcript | None = None
        self._as_sent = True
        """Whether the upstream's own framing goes to the client."""
        self._rechunk = False
        self._ends_by_closing = False
        """Whether the client can tell the answer's end only by the connection's."""
        self._unsent_head = b""
        """Goes out with the first piece of the body, or with `on_pause`."""
        self.begun = False
        """Whether the client gets this answer, and no other."""
        self.keep_alive = keep_alive
        self.finished: asyncio.Future[None] = self._loop.create_future()

    def on_head(self, head: Head) -> None:
        """Send the head on, and decide how the body goes."""
        exchange = self.exchange
        exchange.answered_at = self._loop.time()
        exchange.code = head.status
        self._watch(head)
        fields = list(head.fields)
        untouched = self._filter is None
        if untouched and head.framing is Framing.CLOSE:
            self._ends_by_closing = True
        elif untouched and head.framing is Framing.CHUNKED and not self._http_1_0:
            fields.append(_CHUNKED)
        elif not untouched or head.framing is Framing.CHUNKED:
            self._as_sent = False
            fields = [field for field in fields if field[0].lower() != b"content-length"]
            if self._http_1_0:
                self._ends_by_closing = True
            else:
                self._rechunk = True
                fields.append(_CHUNKED)
        self.keep_alive = self.keep_alive and not self._ends_by_closing
        if head.get(b"x-request-id") is None:
            fields.append((b"x-request-id", exchange.request_id.encode("utf-8", "surrogateescape")))
        self.begun = True
        self._unsent_head = _head_bytes(head, fields, self._http_1_0, self.keep_alive)
        exchange.forwarded_at = self._loop.time()

    def _watch(self, head: Head) -> None:
        """Begin to copy, if the answer is a completion's."""
        exchange = self.exchange
        if not exchange.completion or head.status != OK:
            self._filter = None
            return
        streamed = head.is_event_stream
        if not streamed:
            self._filter = None
        if (head.get(b"content-encoding") or b"identity").lower() != b"identity":
            exchange.unread = Unread.COMPRESSED
            self._filter = None
            return
        limit = self._limits.tail_bytes if streamed else self._limits.body_bytes
        exchange.transcript = self._transcript = Transcript(streamed=streamed, limit=limit)

    def on_body(self, raw: bytes, payload: bytes) -> None:
        """Send a piece on, then copy it."""
        if self._as_sent:
            self._write(raw)
        else:
            self._write_payload(payload if self._filter is None else self._filter.feed(payload))
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
        self.on_pause()
        if self._filter is not None:
            self._write_payload(self._filter.flush())
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
        self.on_pause()
        if self._filter is not None:
            self._write_payload(self._filter.flush())
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


def _head_bytes(head: Head, fields: list[Field], http_1_0: bool, keep_alive: bool) -> bytes:
    lines = [b"HTTP/1.1 %d %b\r\n" % (head.status, head.reason)]
    lines += [b"%b: %b\r\n" % field for field in fields]
    if not keep_alive:
        lines.append(b"Connection: close\r\n")
    elif http_1_0:
        lines.append(b"Connection: keep-alive\r\n")
    lines.append(b"\r\n")
    return b"".join(lines)
