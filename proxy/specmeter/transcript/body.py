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
        self._kept = bytearray()

    def append(self, piece: bytes, now: float) -> None:  # noqa: ARG002 - a stream's needs it
        """Copy one piece."""
        self.total += len(piece)
        if self.total <= self.limit:
            self._kept += piece
        elif self._kept:
            self._kept = bytearray()

    def copied(self) -> CopiedBody:
        """Return the body, if all of it is there."""
        return CopiedBody(bytes(self._kept) if self.total <= self.limit else None)
