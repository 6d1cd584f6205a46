"""Takes out of a document what was put at its end by the request's additions."""

from __future__ import annotations

import orjson

from specmeter.gateway.json_member import before, last_member

WINDOW_BYTES = 64 * 1024
"""The added member is not longer than this."""


class BodyFilter:
    """Holds a document until its end has come, or only its end if it is a long one.

    Args:
        extension: The name of the member that was added; the server writes it last.
        limit: The longest document that is held whole, in bytes.
    """

    def __init__(self, extension: bytes, limit: int) -> None:
        self._extension = extension
        self._limit = limit
        self._held = bytearray()
        self._is_long = False

    def feed(self, piece: bytes) -> bytes:
        """Take a piece of the document; return what can be passed on."""
        self._held += piece
        self._is_long = self._is_long or len(self._held) > self._limit
        if not self._is_long or len(self._held) <= WINDOW_BYTES:
            return b""
        passed = bytes(self._held[:-WINDOW_BYTES])
        del self._held[:-WINDOW_BYTES]
        return passed

    def flush(self) -> bytes:
        """Return what is still held, without the member: the document has ended."""
        rest = bytes(self._held)
        self._held.clear()
        member = last_member(rest, self._extension)
        if member is None or not self._is_last(rest, member.start):
            return rest
        return rest[: member.start] + rest[member.end :]

    def broken_off(self) -> bytes:
        """Return what is still held, up to where the member has begun."""
        rest = bytes(self._held)
        self._held.clear()
        return rest[: before(rest, (b',"%b"' % self._extension,))]

    def _is_last(self, text: bytes, start: int) -> bool:
        """Whether the member is the document's own, with nothing behind it."""
        try:
            alone = orjson.loads(b"{" + text[start + 1 :])
        except orjson.JSONDecodeError:
            return False
        return isinstance(alone, dict) and len(alone) == 1
