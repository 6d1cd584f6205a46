"""Counts that grow, kept small: there are some thousands of them for every model."""

from __future__ import annotations

from array import array
from itertools import starmap, zip_longest
from operator import add

from specmeter.tally.counts import Counts, Numbers


class Growing:
    """Counts to which more is added; they take no room for what nothing was added to."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = array("d")

    def add(self, numbers: Numbers | array[float]) -> None:
        """Add numbers in the order of `Counts`."""
        mine = self._numbers
        if len(mine) == len(numbers):
            self._numbers = array("d", [*map(add, mine, numbers)])
        else:
            both = zip_longest(mine, numbers, fillvalue=0.0)
            self._numbers = array("d", [*starmap(add, both)])

    def include(self, other: Growing) -> None:
        """Add another one's numbers."""
        self.add(other._numbers)

    @property
    def counts(self) -> Counts:
        """The numbers by their names."""
        return Counts(*self._numbers)
