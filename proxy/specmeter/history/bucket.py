"""What happened in a stretch of time, as a whole and by context, output length and load."""

from __future__ import annotations

from specmeter.speedup.strata import ANY
from specmeter.tally.counts import Numbers
from specmeter.tally.growing import Growing
from specmeter.tally.place import SLICES, Place


class Bucket:
    """A stretch of time that has ended, or a sum of several.

    Attributes:
        start: Unix time.
        total: Of all completions.
        slices: By axis and bucket, those that had a completion.
    """

    __slots__ = ("slices", "start", "total")

    def __init__(self, start: float) -> None:
        self.start = start
        self.total = Growing()
        self.slices: dict[tuple[str, str], Growing] = {}

    def include(self, other: Bucket) -> None:
        """Add another one's numbers."""
        self.total.include(other.total)
        for key, numbers in other.slices.items():
            self._slice(key).include(numbers)

    def include_place(self, place: Place, numbers: Growing) -> None:
        """Add the numbers of a place to the whole, and to its bucket of each axis."""
        self.total.include(numbers)
        for axis, label in zip(SLICES, place.labels, strict=True):
            if label != ANY:
                self._slice((axis, label)).include(numbers)

    def _slice(self, key: tuple[str, str]) -> Growing:
        found = self.slices.get(key)
        if found is None:
            found = self.slices[key] = Growing()
        return found


class OpenBucket:
    """The stretch of time that is under way: adding costs one sum, whatever it is sliced by."""

    __slots__ = ("_places", "start")

    def __init__(self, start: float) -> None:
        self.start = start
        self._places: dict[Place, Growing] = {}

    def add(self, place: Place, numbers: Numbers) -> None:
        """Add a completion's numbers."""
        found = self._places.get(place)
        if found is None:
            found = self._places[place] = Growing()
        found.add(numbers)

    def closed(self) -> Bucket:
        """Return what it holds by now."""
        bucket = Bucket(self.start)
        for place, numbers in self._places.items():
            bucket.include_place(place, numbers)
        return bucket
