"""How many requests a server works on at the same time."""

from __future__ import annotations

import msgspec


class Mark(msgspec.Struct, frozen=True, gc=False):
    """When a request began, for `Load.leave`."""

    at: float
    area: float


class Load:
    """Requests under way at one server, and their mean over the time of each.

    The mean is exact and costs the same however many there are: it is the difference of one
    integral, taken when a request begins and when it ends. Times are seconds, monotonic.
    """

    def __init__(self) -> None:
        self.under_way = 0
        self._area = 0.0
        self._at = 0.0

    def enter(self, at: float) -> Mark:
        """Count a request that begins."""
        self._advance(at)
        self.under_way += 1
        return Mark(self._at, self._area)

    def leave(self, mark: Mark, at: float) -> float:
        """Count a request that has ended; return how many there were meanwhile, itself included.

        At least 1; the mean over its time.
        """
        self._advance(at)
        self.under_way -= 1
        lasted = self._at - mark.at
        if lasted <= 0:
            return float(self.under_way + 1)
        return max((self._area - mark.area) / lasted, 1.0)

    def _advance(self, at: float) -> None:
        if at > self._at:
            self._area += self.under_way * (at - self._at)
            self._at = at
