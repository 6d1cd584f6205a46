"""One model's past: five minutes in fine steps, an hour in coarser ones, a day in coarse ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from specmeter.history.bucket import Bucket, OpenBucket
from specmeter.tally.counts import Numbers
from specmeter.tally.place import Place

_TOLERATED = 60.0
"""Seconds by which a completion may come late; a clock that was set back shows more."""


class Range(msgspec.Struct, frozen=True):
    """How far to look back, and how closely. Seconds."""

    name: str
    span: float
    step: float
    trailing: float
    """A single step holds few completions, so a point of a chart stands for that many seconds
    before it."""

    @property
    def kept(self) -> int:
        """Buckets that are kept: those of the first point's trailing seconds too."""
        return round((self.span + self.trailing) / self.step) + 1


RANGES: dict[str, Range] = {
    one.name: one
    for one in (
        Range("5m", span=300, step=5, trailing=60),
        Range("1h", span=3600, step=60, trailing=300),
        Range("24h", span=86400, step=900, trailing=3600),
    )
}
"""Finest first; every step is a multiple of the one before it."""

_FINEST = RANGES["5m"]


class Timeline:
    """Buckets of every range; time without completions takes no memory."""

    def __init__(self) -> None:
        self._open: OpenBucket | None = None
        self._levels: dict[str, _Level] = {}
        coarser: _Level | None = None
        for one in reversed(RANGES.values()):
            coarser = self._levels[one.name] = _Level(one, coarser)
        self._finest = self._levels[_FINEST.name]

    def add(self, at: float, place: Place, numbers: Numbers) -> None:
        """Add a completion.

        Args:
            at: Unix time; one that comes a little late counts in the step under way.
            place: Its bucket on each axis.
            numbers: What it adds.
        """
        bucket = self._open
        start = _start(at, _FINEST)
        if bucket is None:
            bucket = self._open = OpenBucket(start)
        elif start > bucket.start or start < bucket.start - _TOLERATED:
            self._finest.take(bucket.closed())
            if start < bucket.start:
                self._finest.forget_after(start)
            bucket = self._open = OpenBucket(start)
        bucket.add(place, numbers)

    def window(self, of: Range, now: float) -> list[Bucket]:
        """Return the buckets of a range and of the trailing seconds before it, oldest first.

        Args:
            of: One of `RANGES`.
            now: Unix time.
        """
        level = self._levels[of.name]
        found = list(level.closed)
        for bucket in self._under_way(level):
            start = _start(bucket.start, of)
            if not found or found[-1].start != start or found[-1] is level.last_closed:
                found.append(Bucket(start))
            found[-1].include(bucket)
        oldest = _start(now, of) + of.step - of.span - of.trailing
        return [bucket for bucket in found if bucket.start >= oldest]

    def _under_way(self, level: _Level) -> Iterator[Bucket]:
        """Yield what a level has not closed yet: its own, then that of the finer ones."""
        finer = [one for one in self._levels.values() if one.of.step <= level.of.step]
        yield from (one.current for one in finer if one.current is not None)
        if self._open is not None:
            yield self._open.closed()


class _Level:
    """The buckets of one range; those that are closed are handed on to the coarser one."""

    def __init__(self, of: Range, coarser: _Level | None) -> None:
        self.of = of
        self.closed: deque[Bucket] = deque(maxlen=of.kept)
        self.current: Bucket | None = None
        self._coarser = coarser

    @property
    def last_closed(self) -> Bucket | None:
        """The latest of those that are closed."""
        return self.closed[-1] if self.closed else None

    def take(self, bucket: Bucket) -> None:
        """Add a bucket of the finer level."""
        start = _start(bucket.start, self.of)
        if self.current is not None and self.current.start != start:
            self._close()
        if self.current is None:
            self.current = Bucket(start)
        self.current.include(bucket)

    def forget_after(self, start: float) -> None:
        """Close what is under way, and forget what lies in the future: the clock was set back."""
        self._close()
        while self.closed and self.closed[-1].start > start:
            self.closed.pop()
        if self._coarser is not None:
            self._coarser.forget_after(start)

    def _close(self) -> None:
        if self.current is not None:
            self.closed.append(self.current)
            if self._coarser is not None:
                self._coarser.take(self.current)
            self.current = None


def _start(at: float, of: Range) -> float:
    return at - at % of.step
