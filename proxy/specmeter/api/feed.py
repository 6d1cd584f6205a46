"""What open pages are sent: rendered once for all of them, and never queued.

A page that reads slowly gets the state of the moment once it can take it, and the rows that came
meanwhile; what it missed in between it does not need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from specmeter.api.rows import RowOut, row_out
from specmeter.api.series import Series
from specmeter.api.summary import Summary, Teller, favourite
from specmeter.history.history import Model
from specmeter.history.timeline import Range

MOST_ROWS = 200
"""Rows that a page is sent at a time: it shows no more."""

_KEPT = 32
"""Renderings that are kept for other pages of the same moment."""


class Wish(NamedTuple):
    """What a page shows."""

    of: Range
    model: Model
    """Whose charts; those of the favourite if there is no such model."""


class State(msgspec.Struct, frozen=True):
    """All that changes as a whole."""

    summary: Summary
    series: Series


class Rows(msgspec.Struct, frozen=True):
    """What was added."""

    start_over: bool
    """Whether the rows that a page has are to be dropped first."""
    rows: list[RowOut]
    """Oldest first."""


class Feed:
    """Renders events.

    Args:
        teller: What knows.
        clock: Seconds, monotonic.
        tick_seconds: A rendering is used again for so long.
    """

    def __init__(self, teller: Teller, clock: Callable[[], float], tick_seconds: float) -> None:
        self._teller = teller
        self._clock = clock
        self.tick_seconds = tick_seconds
        self._tick = -1
        self._kept: dict[object, bytes] = {}

    @property
    def number(self) -> int:
        """Of the latest row."""
        return self._teller.history.number

    def marks(self) -> tuple[object, ...]:
        """Return what differs as soon as there is something new to send."""
        return self._teller.state()

    def state(self, wish: Wish) -> bytes:
        """Return the state as an event."""
        return self._once(wish, lambda: self._state(wish))

    def rows(self, after: int | None) -> bytes:
        """Return the rows after a number as an event; empty if there are none.

        Args:
            after: The last row that the page has; `None` for none, so that all are sent.
        """
        if after == self.number:
            return b""
        return self._once((after, self.number), lambda: self._rows(after))

    def after(self, id_: str) -> int | None:
        """Return the number that an event's id stands for; `None` if it is none of this run's."""
        run, _, number = id_.partition("-")
        if run != self._teller.run or not (number.isascii() and number.isdecimal()):
            return None
        return int(number[:15])

    def _once(self, key: object, render: Callable[[], bytes]) -> bytes:
        tick = int(self._clock() / self.tick_seconds)
        if tick != self._tick or len(self._kept) >= _KEPT:
            self._tick = tick
            self._kept.clear()
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = render()
        return found

    def _state(self, wish: Wish) -> bytes:
        teller = self._teller
        summary = teller.summary(wish.of)
        model = wish.model if teller.has(wish.model) else favourite(summary)
        return _event("state", msgspec.json.encode(State(summary, teller.series(model, wish.of))))

    def _rows(self, after: int | None) -> bytes:
        number = self.number
        start_over = after is None or not number - MOST_ROWS <= after <= number
        rows = self._teller.history.after(number - MOST_ROWS if start_over else after or 0)
        data = msgspec.json.encode(Rows(start_over, [row_out(row) for row in rows]))
        return b"id: %s-%d\n%s" % (self._teller.run.encode(), number, _event("rows", data))


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)
