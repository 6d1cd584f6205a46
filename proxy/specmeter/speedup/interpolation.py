"""Straight lines between measured points."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def weights(at: Sequence[float], value: float | None, *, within: bool) -> list[tuple[int, float]]:
    """Return the neighbouring points' parts in a value: indices, and weights that add up to 1.

    An unknown value takes the mean of all points.

    Args:
        at: Where the points are, ascending; at least one.
        value: Where the wanted value is.
        within: Whether to stay at the first and the last point instead of going on beyond them.
    """
    if value is None:
        return [(index, 1 / len(at)) for index in range(len(at))]
    if len(at) == 1:
        return [(0, 1.0)]
    right = min(max(bisect_left(at, value), 1), len(at) - 1)
    left = right - 1
    part = (value - at[left]) / (at[right] - at[left])
    if within:
        part = min(max(part, 0.0), 1.0)
    return [(left, 1 - part), (right, part)]
