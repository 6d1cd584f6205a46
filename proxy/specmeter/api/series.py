"""One model's numbers over time, and by context, output length and load."""

from __future__ import annotations

from bisect import bisect_left

import msgspec

from specmeter.api import VERSION
from specmeter.api.numbers import Numbers, numbers_from
from specmeter.history.bucket import Bucket
from specmeter.history.timeline import Range, Timeline
from specmeter.tally.growing import Growing
from specmeter.tally.place import SLICES


class Point(msgspec.Struct, frozen=True, omit_defaults=True):
    """A moment."""

    at: float
    """Unix time: the end of the step."""
    completions: int = 0
    """Within the step."""
    saved_seconds: float | None = None
    """Within the step: plain seconds less those spent; negative for a loss."""
    trailing: Numbers | None = None
    """Over the `trailing_seconds` before it: a step alone may hold too little."""


class Slice(msgspec.Struct, frozen=True):
    """One bucket of an axis over the whole range."""

    bucket: str
    numbers: Numbers


class Series(msgspec.Struct, frozen=True):
    """What the charts of one model show."""

    version: int
    range: str
    at: float
    step_seconds: float
    trailing_seconds: float
    upstream: str
    model: str
    points: list[Point]
    slices: dict[str, list[Slice]]
    """By axis: those of its buckets that had a completion, in the axis's order."""


def series_of(
    timeline: Timeline | None, upstream: str, model: str, of: Range, now: float
) -> Series:
    """Return a model's series up to a moment (Unix time)."""
    buckets = [] if timeline is None else timeline.window(of, now)
    return Series(
        version=VERSION,
        range=of.name,
        at=round(now, 3),
        step_seconds=of.step,
        trailing_seconds=of.trailing,
        upstream=upstream,
        model=model,
        points=_points(buckets, of, now),
        slices=_slices(within(buckets, of, now)),
    )


def within(buckets: list[Bucket], of: Range, now: float) -> list[Bucket]:
    """Return those of the range itself, without the trailing seconds before it."""
    first = _first_start(of, now)
    return [bucket for bucket in buckets if bucket.start >= first]


def total_of(buckets: list[Bucket]) -> Growing:
    """Add up buckets."""
    total = Growing()
    for bucket in buckets:
        total.include(bucket.total)
    return total


def _first_start(of: Range, now: float) -> float:
    return now - now % of.step + of.step - of.span


def _points(buckets: list[Bucket], of: Range, now: float) -> list[Point]:
    starts = [bucket.start for bucket in buckets]
    first = _first_start(of, now)
    found = []
    for index in range(round(of.span / of.step)):
        start = first + index * of.step
        end = start + of.step
        low, high = bisect_left(starts, end - of.trailing), bisect_left(starts, end)
        own = buckets[high - 1] if high and starts[high - 1] == start else None
        found.append(_point(min(end, now), own, buckets[low:high]))
    return found


def _point(at: float, own: Bucket | None, trailing: list[Bucket]) -> Point:
    if not trailing:
        return Point(round(at, 3))
    numbers = numbers_from(total_of(trailing).counts)
    if own is None:
        return Point(round(at, 3), trailing=numbers)
    counts = own.total.counts
    saved = round(counts.plain - counts.spent, 3) if counts.compared else None
    return Point(round(at, 3), int(counts.completions), saved, numbers)


def _slices(buckets: list[Bucket]) -> dict[str, list[Slice]]:
    sums: dict[tuple[str, str], Growing] = {}
    for bucket in buckets:
        for key, numbers in bucket.slices.items():
            sums.setdefault(key, Growing()).include(numbers)
    return {
        name: [
            Slice(label, numbers_from(sums[name, label].counts))
            for label in axis.labels
            if (name, label) in sums
        ]
        for name, axis in SLICES.items()
    }
