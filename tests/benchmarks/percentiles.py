"""The middle and the tail of many times."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Percentiles:
    """Milliseconds.

    Attributes:
        p50: the median.
        p99: what one of a hundred is longer than.
        count: of how many.
    """

    p50: float
    p99: float
    count: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Percentiles | None":
        """Summarise times in seconds; None if there are none."""
        if not seconds:
            return None
        ordered = sorted(seconds)
        last = len(ordered) - 1
        return cls(
            p50=ordered[round(0.5 * last)] * 1000,
            p99=ordered[round(0.99 * last)] * 1000,
            count=len(ordered),
        )
