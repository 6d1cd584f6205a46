"""Counts that grow, kept small: there are some thousands of them for every model."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from operator import add

from specmeter.history.counts import Counts

_PLACES = {name: place for place, name in enumerate(Counts.__struct_fields__)}


class Growing:
    """Counts to which more is added."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = array("d", bytes(8 * len(_PLACES)))

    def add(self, numbers: Mapping[str, float]) -> None:
        """Add numbers by the names of `Counts`."""
        mine = self._numbers
        for name, number in numbers.items():
            mine[_PLACES[name]] += number

    def include(self, other: Growing) -> None:
        """Add another one's numbers."""
        self._numbers = array("d", map(add, self._numbers, other._numbers))

    @property
    def counts(self) -> Counts:
        """The numbers by their names."""
        return Counts(*self._numbers)
