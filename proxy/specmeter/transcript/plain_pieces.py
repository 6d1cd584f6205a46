"""Pieces of a stream that bring text and nothing else."""

from __future__ import annotations

from specmeter.transcript.content import TEXT, brings_text
from specmeter.transcript.findings import MAY_BE_MORE

_MOST_BYTES = 1024
"""A larger piece is not taken for plain."""

_QUOTE = b'"'


class PlainPieces:
    """Tells them: whole events of one stream with text, in which nothing else is to be found.

    One differs from the next in its text only. So what is around the text is searched once, and
    then compared, which takes a third of the time.

    Args:
        end: What ends an event.
    """

    __slots__ = ("_after", "_before", "_end")

    def __init__(self, end: bytes) -> None:
        self._end = end
        self._before = bytes(_MOST_BYTES)
        """What was before the text of the last one; at first nothing is like it."""
        self._after = b""

    def include(self, piece: bytes) -> bool:
        """Whether this piece, which begins with an event, is one of them."""
        before, after = self._before, self._after
        if (
            piece.startswith(before)
            and piece.endswith(after)
            and piece.find(_QUOTE, len(before), -len(after)) < 0
            and len(before) + len(after) < len(piece) < _MOST_BYTES
        ):
            return True
        if (
            piece.endswith(self._end)
            and len(piece) < _MOST_BYTES
            and brings_text(piece)
            and MAY_BE_MORE.search(piece) is None
        ):
            begins = piece.find(TEXT) + len(TEXT)
            ends = piece.find(_QUOTE, begins)
            self._before, self._after = piece[:begins], piece[ends:]
            return True
        return False
