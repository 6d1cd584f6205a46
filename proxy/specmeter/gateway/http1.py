"""HTTP/1.1 as it comes from an upstream: the head of a response, and where its body ends.

Source: RFC 9112. Strict where leniency would let one response run into another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

MAX_HEAD_BYTES = 256 * 1024
"""Status line and headers together."""

MAX_CHUNK_LINE_BYTES = 16 * 1024
"""A chunk's size with its extensions, or a trailer."""

_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: ([^\r\n\x00]*))?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n\x00]*)")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n\x00]*)?")

_NOT_FORWARDED = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
"""Hop-by-hop: they speak of one connection only."""


class ProtocolError(Exception):
    """The upstream broke HTTP; the text says how."""


class Framing(Enum):
    """How the end of a body is told."""

    NONE = "none"
    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"


Field = tuple[bytes, bytes]
"""A header's name as sent, and its value."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a response."""

    status: int
    reason: bytes
    fields: tuple[Field, ...]
    """In order, hop-by-hop ones and the framing left out."""
    framing: Framing
    length: int
    """Of the body, where `framing` is `LENGTH`."""
    keep_alive: bool
    """Whether the upstream will take another request on this connection."""

    def get(self, name: bytes) -> bytes | None:
        """Return the first value of a header (its name in lower case)."""
        return next((value for key, value in self.fields if key.lower() == name), None)


def end_to_end(fields: list[Field]) -> tuple[Field, ...]:
    """Leave out hop-by-hop headers and all that `Connection` names."""
    dropped = set(_NOT_FORWARDED)
    for name, value in fields:
        if name.lower() == b"connection":
            dropped.update(token.strip().lower() for token in value.split(b","))
    return tuple(field for field in fields if field[0].lower() not in dropped)


def parse_head(block: bytes, *, to_head_request: bool) -> Head:
    """Parse the head of a response, without the blank line that ends it.

    Args:
        block: Status line and headers.
        to_head_request: Whether it answers a `HEAD`, and so has no body whatever it says.

    Raises:
        ProtocolError: It is malformed, or its framing is ambiguous.
    """
    lines = block.split(b"\r\n")
    status_line = _STATUS_LINE.fullmatch(lines[0])
    if status_line is None:
        raise ProtocolError(f"its status line is malformed: {lines[0][:80]!r}")
    fields: list[Field] = []
    for line in lines[1:]:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise ProtocolError(f"it sent a malformed header: {line.partition(b':')[0][:80]!r}")
        fields.append((field[1], field[2].strip(b" \t")))
    status = int(status_line[2])
    bodiless = to_head_request or status < 200 or status in (204, 304)  # noqa: PLR2004
    framing, length = _framing(fields)
    connection = b",".join(v for k, v in fields if k.lower() == b"connection").lower()
    return Head(
        status=status,
        reason=status_line[3] or b"",
        fields=_without_length(end_to_end(fields), keep=framing is Framing.LENGTH or bodiless),
        framing=Framing.NONE if bodiless else framing,
        length=length,
        keep_alive=(
            b"close" not in connection
            if status_line[1] == b"1"
            else b"keep-alive" in connection and framing is not Framing.CHUNKED
        )
        and (bodiless or framing is not Framing.CLOSE),
    )


def _without_length(fields: tuple[Field, ...], *, keep: bool) -> tuple[Field, ...]:
    """Drop a length that another framing overrides, and repeated ones."""
    lengths = [field for field in fields if field[0].lower() == b"content-length"]
    if not lengths:
        return fields
    others = tuple(field for field in fields if field[0].lower() != b"content-length")
    return (*others, lengths[0]) if keep else others


def _framing(fields: list[Field]) -> tuple[Framing, int]:
    codings = [v.strip().lower() for k, v in fields if k.lower() == b"transfer-encoding"]
    lengths = {v for k, v in fields if k.lower() == b"content-length"}
    if len(lengths) > 1:
        raise ProtocolError("it sent two different Content-Length headers")
    length = next(iter(lengths), None)
    if length is not None and not (length.isdigit() and len(length) < 19):  # noqa: PLR2004
        raise ProtocolError(f"its Content-Length is no number: {length[:40]!r}")
    if codings:
        if codings != [b"chunked"]:
            raise ProtocolError(f"it uses an unknown transfer coding: {codings[0][:40]!r}")
        return Framing.CHUNKED, 0
    if length is not None:
        return Framing.LENGTH, int(length)
    return Framing.CLOSE, 0


class LengthBody:
    """A body whose length was announced."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.ended = length == 0

    def feed(self, data: bytes) -> tuple[int, bytes]:
        """Take bytes; return how many belong to the body, and the payload among them."""
        taken = min(len(data), self._left)
        self._left -= taken
        self.ended = self._left == 0
        return taken, data if taken == len(data) else data[:taken]


class CloseBody:
    """A body that ends with the connection."""

    ended = False

    def feed(self, data: bytes) -> tuple[int, bytes]:
        """Take bytes: all of them are payload."""
        return len(data), data


class ChunkedBody:
    """A body in chunks: finds its end, and the payload between the framing."""

    def __init__(self) -> None:
        self._left = 0
        """Bytes of the current chunk still to come, its CRLF included."""
        self._line = b""
        """The part of a framing line that has come."""
        self._in_trailer = False
        self.ended = False

    def feed(self, data: bytes) -> tuple[int, bytes]:
        """Take bytes; return how many belong to the body, and the payload among them.

        Raises:
            ProtocolError: The framing is broken.
        """
        position, size = 0, len(data)
        payload: list[bytes] = []
        while position < size and not self.ended:
            if self._left:
                position = self._chunk(data, position, payload)
            else:
                position = self._framing_line(data, position)
        return position, payload[0] if len(payload) == 1 else b"".join(payload)

    def _chunk(self, data: bytes, position: int, payload: list[bytes]) -> int:
        end = min(position + self._left, len(data))
        content_end = position + self._left - 2
        if content_end > position:
            payload.append(data[position : min(content_end, end)])
        for at in (content_end, content_end + 1):
            if position <= at < end and data[at] != b"\r\n"[at - content_end]:
                raise ProtocolError("a chunk does not end where it said")
        self._left -= end - position
        return end

    def _framing_line(self, data: bytes, position: int) -> int:
        newline = data.find(b"\n", position)
        if newline < 0:
            self._line += data[position:]
            if len(self._line) > MAX_CHUNK_LINE_BYTES:
                raise ProtocolError("a chunk's size line or a trailer is too long")
            return len(data)
        line = self._line + data[position : newline + 1]
        self._line = b""
        if not line.endswith(b"\r\n") or len(line) > MAX_CHUNK_LINE_BYTES:
            raise ProtocolError("a line of the chunked framing does not end with CRLF")
        if self._in_trailer:
            self.ended = line == b"\r\n"
            return newline + 1
        match = _CHUNK_SIZE.fullmatch(line, 0, len(line) - 2)
        if match is None:
            raise ProtocolError(f"a chunk's size is no number: {line[:20]!r}")
        length = int(match[1], 16)
        self._left = length + 2 if length else 0
        self._in_trailer = length == 0
        return newline + 1


Body = LengthBody | CloseBody | ChunkedBody


def body_of(head: Head) -> Body:
    """Return the reader of a response's body."""
    if head.framing is Framing.CHUNKED:
        return ChunkedBody()
    if head.framing is Framing.CLOSE:
        return CloseBody()
    return LengthBody(head.length if head.framing is Framing.LENGTH else 0)
