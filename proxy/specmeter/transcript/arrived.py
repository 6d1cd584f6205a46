"""When the bytes of a stream came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Arrived(NamedTuple):
    """Pieces that have come."""

    pieces: Sequence[bytes]
    times: Sequence[float]
    end: int
    """Bytes of the stream that have come with them."""
    before: float
    """When the piece before them came."""

    def at(self, position: int) -> float:
        """When byte `position` had come, which is one of these, or shortly before them."""
        begin = self.end
        for piece, when in zip(reversed(self.pieces), reversed(self.times), strict=True):
            begin -= len(piece)
            if begin < position:
                return when
        return self.before
