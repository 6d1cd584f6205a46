"""How many requests a server works on at the same time."""

from __future__ import annotations

import msgspec


class Mark(msgspec.Struct, frozen=True, gc=False):
    """When a request began, for `Load.leave`."""

    at: float
    area: float


class Load:
    """Requests under way at one server, and their mean over the time of each.

    The mean is exact, but for rounding, and costs the same however many there are: it is the
    difference of one integral, taken when a request begins and when it ends. Times are seconds,
    monotonic, and all of one clock.
    """

    def __init__(self) -> None:
        self.under_way = 0
        self._offset = 0.0
        """The integral at a time t is this and `under_way` times t."""

    def enter(self, at: float) -> Mark:
        """Count a request that begins."""
        if not self.under_way:
            self._offset = 0.0  # so that what was rounded off does not add up
        self.under_way += 1
        self._offset -= at
        return Mark(at, self._offset + self.under_way * at)

    def leave(self, mark: Mark, at: float) -> float:
        """Count a request that has ended; return how many there were meanwhile, itself included.

        At least 1; the mean over its time.
        """
        self.under_way -= 1
        self._offset += at
        lasted = at - mark.at
        if lasted <= 0:
            return float(self.under_way + 1)
        return max((self._offset + self.under_way * at - mark.area) / lasted, 1.0)
