"""Counts that grow, kept small: there are some thousands of them for every model."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import zip_longest

from specmeter.tally.counts import Counts, Numbers

_AT_A_TIME = 8
"""How many additions are summed up at once: that costs a third of one after the other."""


class Growing:
    """Counts to which more is added; they take no room for what nothing was added to.

    The latest few additions are kept until they are summed up, or asked for.
    """

    __slots__ = ("_added", "_sums")

    def __init__(self) -> None:
        self._sums = array("d")
        self._added: list[Numbers] | None = None
        """Not yet among the sums."""

    def add(self, numbers: Numbers) -> None:
        """Add numbers in the order of `Counts`."""
        if self._added is None:
            self._added = [numbers]
            return
        self._added.append(numbers)
        if len(self._added) == _AT_A_TIME:
            self._settle()

    def include(self, other: Growing) -> None:
        """Add another one's numbers."""
        other._settle()  # in another order, a sum of floats could come out less than last time
        self._sum_up((other._sums,))

    @property
    def counts(self) -> Counts:
        """The numbers by their names."""
        self._settle()
        return Counts(*self._sums)

    def _settle(self) -> None:
        added, self._added = self._added, None
        if added is not None:
            self._sum_up(added)

    def _sum_up(self, added: Iterable[Numbers | array[float]]) -> None:
        columns = zip_longest(self._sums, *added, fillvalue=0.0)
        self._sums = array("d", [*map(sum, columns)])
