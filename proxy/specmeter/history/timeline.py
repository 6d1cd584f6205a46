"""One model's past: five minutes in fine steps, an hour in coarser ones, a day in coarse ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import msgspec

from specmeter.history.bucket import Bucket, OpenBucket, Place

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
        self._closed: dict[str, deque[Bucket]] = {
            one.name: deque(maxlen=one.kept) for one in RANGES.values()
        }
        self._open: OpenBucket | None = None

    def add(self, at: float, place: Place, numbers: Mapping[str, float]) -> None:
        """Add a completion.

        Args:
            at: Unix time; one that comes a little late counts in the step under way.
            place: Its bucket on each axis.
            numbers: What it adds.
        """
        bucket = self._open
        start = at - at % _FINEST.step
        if bucket is None:
            bucket = self._open = OpenBucket(start)
        elif start > bucket.start or start < bucket.start - _TOLERATED:
            self._close(bucket)
            if start < bucket.start:
                self._forget_after(start)
            bucket = self._open = OpenBucket(start)
        bucket.add(place, numbers)

    def window(self, of: Range, now: float) -> list[Bucket]:
        """Return the buckets of a range and of the trailing seconds before it, oldest first.

        Args:
            of: One of `RANGES`.
            now: Unix time.
        """
        found = list(self._closed[of.name])
        if self._open is not None:
            latest = self._open.closed()
            start = _start(latest.start, of)
            merged = Bucket(start)
            if found and found[-1].start == start:
                merged.include(found.pop())
            merged.include(latest)
            found.append(merged)
        oldest = _start(now, of) + of.step - of.span - of.trailing
        return [bucket for bucket in found if bucket.start >= oldest]

    def _close(self, bucket: OpenBucket) -> None:
        closed = bucket.closed()
        for one in RANGES.values():
            buckets, start = self._closed[one.name], _start(closed.start, one)
            if not buckets or buckets[-1].start != start:
                buckets.append(Bucket(start))
            buckets[-1].include(closed)

    def _forget_after(self, start: float) -> None:
        """Forget what lies in the future since the clock was set back."""
        for buckets in self._closed.values():
            while buckets and buckets[-1].start > start:
                buckets.pop()


def _start(at: float, of: Range) -> float:
    return at - at % of.step
