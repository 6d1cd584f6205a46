"""The latest completions of a model: the speedup of the moment, and what a step costs."""

from __future__ import annotations

from collections import deque

import msgspec

from specmeter.speedup.estimate import Estimate
from specmeter.speedup.interval import Sums
from specmeter.speedup.work import Work

LATEST = 60
"""Completions that the speedup is taken over. With more, the interval is narrower, but a drop to
0.9 is seen later, and less surely within 200 completions."""

FITTED = 200
"""Completions that the cost of a step is fitted to."""


class Recent:
    """The latest completions, those before them forgotten."""

    def __init__(self) -> None:
        self._sums: deque[Sums] = deque(maxlen=LATEST)
        self._works: deque[Work] = deque(maxlen=FITTED)

    def add(self, estimate: Estimate | None, work: Work | None) -> None:
        """Add a completion; what it does not say is left out."""
        if estimate is not None:
            self._sums.append(estimate.sums)
            if work is not None:
                work = msgspec.structs.replace(work, plain_seconds=estimate.plain)
        if work is not None:
            self._works.append(work)

    @property
    def sums(self) -> Sums:
        """Of those with a baseline."""
        return sum(self._sums, Sums())

    @property
    def works(self) -> tuple[Work, ...]:
        """Of those that report drafting."""
        return tuple(self._works)
