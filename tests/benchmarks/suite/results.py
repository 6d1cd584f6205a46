"""Numbers by what they measure and by way, and what follows from them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.benchmarks.errors import BenchmarkError
from tests.benchmarks.summary import Spread

BASE = "nginx"
"""What others are compared with."""

DIRECT = "direct"
"""The way without a proxy, whose times are taken off."""


@dataclass(frozen=True)
class Measure:
    """What a number tells.

    Attributes:
        name: with all that makes it another number than the rest of its section.
        unit: of the value.
        digits: behind the point.
        added: whether the way without a proxy has it too, so that it can be taken off.
    """

    name: str
    unit: str
    digits: int = 1
    added: bool = False


@dataclass
class Section:
    """The numbers of one part.

    Attributes:
        title: what it is about.
        notes: what has to be known to read it.
        failures: what could not be measured, and why.
    """

    title: str
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _values: dict[Measure, dict[str, dict[int, float]]] = field(default_factory=dict)

    def add(self, measure: Measure, way: str, repeat: int, value: float) -> None:
        """Note a number."""
        self._values.setdefault(measure, {}).setdefault(way, {})[repeat] = value

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Note it if something cannot be measured, and go on with the rest."""
        try:
            yield
        except BenchmarkError as error:
            self.failures.append(f"{what}: {error}")

    @property
    def measures(self) -> list[Measure]:
        """In the order in which they came."""
        return list(self._values)

    def ways(self, measure: Measure) -> list[str]:
        """Those that have it, always in the same order."""
        return sorted(self._values[measure], key=_place)

    def value(self, measure: Measure, way: str) -> Spread:
        """The median and the spread over the repeats."""
        return Spread.of(list(self._values[measure][way].values()))

    def added(self, measure: Measure, way: str) -> Spread | None:
        """What the proxy added, against the direct way in the same repeat."""
        if not measure.added or way == DIRECT:
            return None
        pairs = list(self._pairs(measure, way, DIRECT))
        return Spread.of([value - direct for value, direct in pairs]) if pairs else None

    def ratio(self, measure: Measure, way: str) -> Spread | None:
        """The multiple of what nginx has in the same repeat."""
        if way == DIRECT:
            return None
        pairs = [(value, base) for value, base in self._pairs(measure, way, BASE) if base > 0]
        return Spread.of([value / base for value, base in pairs]) if pairs else None

    def _pairs(self, measure: Measure, way: str, other: str) -> Iterator[tuple[float, float]]:
        others = self._values[measure].get(other, {})
        for repeat, value in self._values[measure][way].items():
            if repeat in others:
                yield value, others[repeat]


def _place(way: str) -> tuple[int, str]:
    """The direct way first, then what others are compared with, then the rest by name."""
    return (2 - 2 * (way == DIRECT) - (way == BASE), way)
