"""What has been measured so far, and what a baseline file holds of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

from specmeter.baseline.plan import Cell
from specmeter.reading import Reading
from specmeter.speedup.strata import context_tokens
from specmeter.speedup.table import Repeat, Table, points_of

_SHORT = 0.9


class Measured(msgspec.Struct):
    """The repeats of one cell."""

    cell: Cell
    contexts: list[float] = msgspec.field(default_factory=list)
    """Tokens at mid-generation of each request, as the server counts them."""
    repeats: list[Repeat] = msgspec.field(default_factory=list)
    generated: list[int] = msgspec.field(default_factory=list)

    def add(self, readings: Sequence[Reading]) -> None:
        """Take in the requests of one repeat, which ran at the same time.

        They make one repeat, as what disturbs one of them disturbs all.
        """
        seconds = 0.0
        tokens = 0
        for reading in readings:
            context = context_tokens(reading.prompt, reading.generated)
            if context is None or not reading.decoded or not reading.decode_seconds:
                raise ValueError("a reading without tokens or decode time")
            self.contexts.append(context)
            self.generated.append(reading.generated or 0)
            seconds += reading.decode_seconds
            tokens += reading.decoded
        self.repeats.append(Repeat(seconds, tokens))

    @property
    def context(self) -> float:
        """Tokens at mid-generation, the mean of all requests."""
        return round(fmean(self.contexts), 1)

    @property
    def speeds(self) -> list[float]:
        """Tokens per second of one request, by repeat."""
        return [one.tokens / one.seconds for one in self.repeats]

    @property
    def range_ratio(self) -> float:
        """Fastest repeat over slowest (>= 1)."""
        return max(self.speeds) / min(self.speeds)

    def is_short(self, tokens: int) -> bool:
        """Whether its answers ended well before so many tokens."""
        return fmean(self.generated) < _SHORT * tokens


class Results(msgspec.Struct):
    """All cells that have been measured."""

    cells: dict[Cell, Measured] = msgspec.field(default_factory=dict)

    def add(self, cell: Cell, readings: Sequence[Reading]) -> None:
        """Take in one repeat of a cell."""
        self.cells.setdefault(cell, Measured(cell)).add(readings)

    def repeats(self) -> dict[tuple[float, int], list[Repeat]]:
        """Return the repeats by context and load, as they were met."""
        merged: dict[tuple[float, int], list[Repeat]] = {}
        for one in self.cells.values():
            merged.setdefault((one.context, one.cell.in_flight), []).extend(one.repeats)
        return merged

    def table(self, *, measured_at: float, build: str, model: str) -> Table:
        """Return what a baseline file holds (at least one cell must have been measured)."""
        points = points_of(self.repeats())
        return Table(points=points, measured_at=measured_at, build=build, model=model)
