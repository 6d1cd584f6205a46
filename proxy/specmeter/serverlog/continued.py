"""Records that a logger breaks into several lines, as it does to fit a screen."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from specmeter.serverlog.lines import Origin, before, end_of_line, is_text, origin

_MOST_LINES = 3  # that go on with a record


class Continued:
    """Puts records together, also over the end of a block.

    Args:
        marker: What a record's first line has in it.
        is_complete: Tells of a record's text whether it needs no further line.
    """

    def __init__(self, marker: bytes, is_complete: Callable[[bytes], bool]) -> None:
        self._marker = marker
        self._is_complete = is_complete
        self._origin: Origin | None = None  # of the record that goes on
        self._text = b""
        self._lines = 0

    def read(self, block: bytes) -> Iterator[tuple[int, Origin, bytes]]:
        """Return each record's position, where it comes from, and its text from the marker on."""
        position = yield from self._go_on(block, 0)
        while (found := block.find(self._marker, position)) >= 0:
            end = end_of_line(block, found)
            where = origin(before(block, found))
            if is_text(where.rest):
                position = end
                continue
            self._origin, self._text, self._lines = where, block[found:end], 0
            position = yield from self._go_on(block, end + 1)

    def close(self) -> Iterator[tuple[Origin, bytes]]:
        """Return the record that still waits for a line."""
        if self._origin is not None:
            yield self._origin, self._text
            self._origin = None

    def _go_on(
        self, block: bytes, position: int
    ) -> Generator[tuple[int, Origin, bytes], None, int]:
        """Add the next lines to an open record; return where the search goes on."""
        while (where := self._origin) is not None:
            is_done = self._lines == _MOST_LINES or self._is_complete(self._text)
            if not is_done and position >= len(block):
                break
            end = end_of_line(block, position)
            if is_done or self._marker in block[position:end]:
                self._origin = None
                # In the line that ended it: its last one, or the next record's first.
                yield position - is_done, where, self._text
                break
            self._text += b" " + block[position:end]
            self._lines += 1
            position = end + 1
        return position
