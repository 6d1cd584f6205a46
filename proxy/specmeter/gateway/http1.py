"""HTTP/1.1 as it comes from an upstream: the head of a response, and where a body ends.

Source: RFC 9112. Strict where leniency would let one response run into another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from specmeter.discreet import Discreet

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


_NOT_TO_DROP = frozenset((b"keep-alive", b"close", b"upgrade", b"te", b"content-length"))
"""What `Connection` names most of the time, and is dropped anyway; and what frames a body."""

_COMPRESSIONS = frozenset(
    (
        b"gzip",
        b"x-gzip",
        b"deflate",
        b"compress",
        b"x-compress",
        b"br",
        b"zstd",
        b"dcb",
        b"dcz",
    )
)
"""Content codings that exist; some servers send a charset or `none` there, and mean no coding."""

_OF_FRAMING = frozenset((b"connection", b"content-length", b"transfer-encoding"))

MAX_LENGTH_DIGITS = 19
"""A length has fewer."""


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


@dataclass(slots=True, repr=False)
class Head(Discreet):
    """The head of a response; but for the length, one may stand for others that are the same."""

    status: int
    reason: bytes
    fields: tuple[Field, ...]
    """In order, hop-by-hop ones left out, and a length that does not hold."""
    framing: Framing
    length: int
    """As announced, 0 if it was not: that of the body where `framing` is `LENGTH`."""
    keep_alive: bool
    """Whether the upstream will take another request on this connection."""
    content_type: bytes = b""
    """What the body is, in lower case, maybe with parameters; empty if it is not said."""
    is_event_stream: bool = False
    """Whether the body is a stream of server-sent events."""
    is_compressed: bool = False
    """Whether the body has a coding that hides what is in it."""
    has_request_id: bool = False
    lines: bytes = b""
    """Status line and `fields`, without the blank line; up to the value of a length."""
    lines_after: bytes | None = None
    """What follows the value of the length; `None` if there is no length."""

    def __post_init__(self) -> None:
        names = [name.lower() for name, _ in self.fields]
        before = [b"HTTP/1.1 %d %b\r\n" % (self.status, self.reason)]
        after: list[bytes] = []
        lines = before
        for lowered, (name, value) in zip(names, self.fields, strict=True):
            if lowered == b"content-length":
                before.append(name + b": ")
                lines = after
                after.append(b"\r\n")
                continue
            lines.append(b"%b: %b\r\n" % (name, value))
            if lowered == b"content-type" and not self.content_type:
                self.content_type = value.lower()
        self.lines = b"".join(before)
        self.lines_after = b"".join(after) if after else None
        self.is_event_stream = self.content_type.startswith(b"text/event-stream")
        self.is_compressed = b"content-encoding" in names and _is_compressed(self.fields)
        self.has_request_id = b"x-request-id" in names

    def with_length(self, length: int) -> bytes:
        """Return status line and headers with a length, where there is one."""
        if self.lines_after is None:
            return self.lines
        return b"%b%d%b" % (self.lines, length, self.lines_after)

    def without_length(self) -> bytes:
        """Return status line and headers without a length."""
        if self.lines_after is None:
            return self.lines
        lines = self.lines[: self.lines.rindex(b"\r\n") + 2]
        return lines + self.lines_after[2:]

    def get(self, name: bytes) -> bytes | None:
        """Return the first value of a header (its name in lower case)."""
        return next((value for key, value in self.fields if key.lower() == name), None)


def _is_compressed(fields: Iterable[Field]) -> bool:
    """Whether one of the codings that are named, in one header or several, is a compression."""
    return any(
        coding.strip() in _COMPRESSIONS
        for name, value in fields
        if name.lower() == b"content-encoding"
        for coding in value.lower().split(b",")
    )


def end_to_end(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Leave out hop-by-hop headers and all that `Connection` names."""
    kept = []
    named: set[bytes] | None = None
    for field in fields:
        name = field[0].lower()
        if name not in _NOT_FORWARDED:
            kept.append(field)
        elif name == b"connection":
            tokens = {token.strip().lower() for token in field[1].split(b",")}
            named = tokens if named is None else named | tokens
    if named is None or not (named := named - _NOT_TO_DROP):
        return tuple(kept)
    return tuple(field for field in kept if field[0].lower() not in named)


def parse_head(block: bytes, *, to_head_request: bool) -> Head:
    """Parse the head of a response, without the blank line that ends it.

    Args:
        block: Status line and headers.
        to_head_request: Whether it answers a `HEAD`, and so has no body whatever it says.

    Raises:
        ProtocolError: It is malformed, or its framing is ambiguous.
    """
    first, *lines = block.split(b"\r\n")
    status_line = _STATUS_LINE.fullmatch(first)
    if status_line is None:
        raise ProtocolError(f"its status line is malformed: {first[:80]!r}")
    fields: list[Field] = []
    of_framing: dict[bytes, list[bytes]] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise ProtocolError(f"it sent a malformed header: {line.partition(b':')[0][:80]!r}")
        name, value = field[1], field[2].strip(b" \t")
        lowered = name.lower()
        if lowered in _OF_FRAMING:
            of_framing.setdefault(lowered, []).append(value)
        fields.append((name, value))
    status = int(status_line[2])
    bodiless = to_head_request or status < 200 or status in (204, 304)  # noqa: PLR2004
    framing, length = _framing(of_framing)
    connection = b",".join(of_framing.get(b"connection", ())).lower()
    if status_line[1] == b"1":
        stays_open = b"close" not in connection
    else:
        stays_open = b"keep-alive" in connection and framing is not Framing.CHUNKED
    if (lengths := of_framing.get(b"content-length")) is not None:
        # RFC 9112, 6.3: an answer with both framings is not to be trusted for another one.
        stays_open = stays_open and framing is not Framing.CHUNKED
        holds = framing is Framing.LENGTH or bodiless
        if not holds or len(lengths) > 1:
            fields = _with_one_length(fields, wanted=holds)
    return Head(
        status=status,
        reason=status_line[3] or b"",
        fields=end_to_end(fields),
        framing=Framing.NONE if bodiless else framing,
        length=length,
        keep_alive=stays_open and (bodiless or framing is not Framing.CLOSE),
    )


def _with_one_length(fields: list[Field], *, wanted: bool) -> list[Field]:
    """Keep the first of several lengths, or none where another framing overrides them."""
    kept = []
    for field in fields:
        if field[0].lower() == b"content-length":
            if not wanted:
                continue
            wanted = False
        kept.append(field)
    return kept


def _framing(of_framing: dict[bytes, list[bytes]]) -> tuple[Framing, int]:
    codings = of_framing.get(b"transfer-encoding")
    lengths = of_framing.get(b"content-length")
    if lengths is not None:
        if any(length != lengths[0] for length in lengths):
            raise ProtocolError("it sent two different Content-Length headers")
        if not (lengths[0].isdigit() and len(lengths[0]) < MAX_LENGTH_DIGITS):
            raise ProtocolError(f"its Content-Length is no number: {lengths[0][:40]!r}")
    if codings is not None:
        if [coding.strip().lower() for coding in codings] != [b"chunked"]:
            raise ProtocolError(f"it uses an unknown transfer coding: {codings[0][:40]!r}")
        return Framing.CHUNKED, 0
    if lengths is not None:
        return Framing.LENGTH, int(lengths[0])
    return Framing.CLOSE, 0


@lru_cache(maxsize=4096)
def _size_line(length: int) -> bytes:
    """Return how a chunk begins that has so many bytes with its framing; empty for none such."""
    for digits in range(1, len(b"%x" % length) + 1):
        line = b"%x\r\n" % max(length - digits - len(b"\r\n\r\n"), 0)
        if len(line) == digits + 2 and not line.startswith(b"0"):
            return line
    return b""


class LengthBody:
    """A body whose length was announced."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.ended = length == 0

    def whole(self, data: bytes) -> bytes:  # noqa: ARG002 - see `ChunkedBody`
        """Return nothing: it has no chunks."""
        return b""

    def feed(self, data: bytes) -> tuple[int, bytes]:
        """Take bytes; return how many belong to the body, and the payload among them."""
        taken = min(len(data), self._left)
        self._left -= taken
        self.ended = self._left == 0
        return taken, data if taken == len(data) else data[:taken]


class CloseBody:
    """A body that ends with the connection."""

    ended = False

    def whole(self, data: bytes) -> bytes:  # noqa: ARG002 - see `ChunkedBody`
        """Return nothing: it has no chunks."""
        return b""

    def feed(self, data: bytes) -> tuple[int, bytes]:
        """Take bytes: all of them are payload."""
        return len(data), data


class ChunkedBody:
    """A body in chunks: finds its end, and the payload between the framing."""

    __slots__ = ("_in_trailer", "_is_between", "_left", "_line", "ended")

    def __init__(self) -> None:
        self._left = 0
        """Bytes of the current chunk still to come, its CRLF included."""
        self._line = b""
        """The part of a framing line that has come."""
        self._in_trailer = False
        self._is_between = True
        """Whether the next byte is the first of a chunk's size."""
        self.ended = False

    def whole(self, data: bytes) -> bytes:
        """Return the payload if this is one whole chunk, as most events of a stream are."""
        line = _size_line(len(data))
        if line and self._is_between and data.startswith(line) and data.endswith(b"\r\n"):
            return data[len(line) : -2]
        return b""

    def feed(self, data: bytes) -> tuple[int, bytes]:
        """Take bytes; return how many belong to the body, and the payload among them.

        It stops before what is broken, so that what came before it is not lost.

        Raises:
            ProtocolError: The framing is broken where these bytes begin.
        """
        position, size = 0, len(data)
        payload: list[bytes] = []
        while position < size and not self.ended:
            try:
                if self._left:
                    position = self._chunk(data, position, payload)
                else:
                    position = self._framing_line(data, position)
            except ProtocolError:
                if not position:
                    raise
                break
        self._is_between = not (self._left or self._line or self._in_trailer)
        return position, payload[0] if len(payload) == 1 else b"".join(payload)

    def _chunk(self, data: bytes, position: int, payload: list[bytes]) -> int:
        end = min(position + self._left, len(data))
        content_end = position + self._left - 2
        for at in (content_end, content_end + 1):
            if position <= at < end and data[at] != b"\r\n"[at - content_end]:
                if content_end <= position:
                    raise ProtocolError("a chunk does not end where it said")
                end = content_end
        if content_end > position:
            payload.append(data[position : min(content_end, end)])
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


def body_of(head: Head, length: int) -> Body:
    """Return the reader of a response's body; `length` is what its head announces."""
    if head.framing is Framing.CHUNKED:
        return ChunkedBody()
    if head.framing is Framing.CLOSE:
        return CloseBody()
    return LengthBody(length if head.framing is Framing.LENGTH else 0)
