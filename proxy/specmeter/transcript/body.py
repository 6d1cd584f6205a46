"""The copy of a body that is one document."""

from __future__ import annotations

from specmeter.transcript.copied import CopiedBody


class BodyTranscript:
    """Keeps a body as a whole, or nothing of it.

    Args:
        limit: The most bytes that are kept.
    """

    __slots__ = ("_kept", "limit", "total")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = 0
        """Bytes that passed."""
        self._kept: bytes | bytearray = b""
        """The piece itself if there is only one, as in most answers."""

    def append(self, piece: bytes, now: float) -> None:  # noqa: ARG002 - a stream's needs it
        """Copy one piece."""
        self.total += len(piece)
        if self.total > self.limit:
            self._kept = b""
        elif self._kept:
            if isinstance(self._kept, bytes):
                self._kept = bytearray(self._kept)
            self._kept += piece
        else:
            self._kept = piece

    def copied(self) -> CopiedBody:
        """Return the body, if all of it is there."""
        return CopiedBody(bytes(self._kept) if self.total <= self.limit else None)
