"""What follows from the samples of a live baseline.

What a stratum costs changes slowly, what the machine is capable of at the moment quickly and for
all strata alike. So plain seconds per token are a product::

    shape(stratum)   mean over the last 500 samples of the stratum, each at the usual pace
    pace             how the latest samples, of all strata, compare with their shapes
    1 + tail         what rare stalls add
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from specmeter.speedup.interval import MIN_EFFECTIVE
from specmeter.speedup.learned import Cell, Learned
from specmeter.speedup.shapes import Shape, Shapes
from specmeter.speedup.strata import Stratum


class View:
    """Shapes, pace and tail of the samples so far.

    Attributes:
        shapes: Of the strata; they change slowly, so that they stay as they are.
        pace: Of the latest samples, stalls left out; 1 is the usual one, and what is assumed
            before there are enough.
        scale: From a shape to seconds per token at the moment: pace and tail.
        relative_error: Of the scale; infinite before there are enough samples.
        measured_at: Unix time, the mean of the latest samples; 0 before the first.
    """

    def __init__(self, learned: Learned) -> None:
        self._learned = learned
        self.shapes = Shapes(learned.cells)
        pairs = [(cell, shape) for cell in learned.cells if (shape := self.shapes.of(cell.stratum))]
        self._all = pairs
        # A stratum that another one stands in for says little of the pace.
        self._own = [(cell, shape) for cell, shape in pairs if shape.stratum == cell.stratum]
        self.refresh()

    def refresh(self) -> None:
        """Look at the pace and the tail again."""
        noise = self.shapes.noise
        self.pace, error = _pace(self._own, noise) or _pace(self._all, noise) or (1.0, math.inf)
        tail, tail_error = self._learned.tail.share()
        self.scale = self.pace * (1 + tail)
        self.relative_error = math.hypot(error, tail_error / (1 + tail))
        self.measured_at = self._learned.measured_at

    def shares(self) -> dict[Stratum, float]:
        """Return the strata's shares of the latest samples, in expected seconds."""
        expected = {
            cell.stratum: cell.recent.tokens * shape.seconds_per_token for cell, shape in self._all
        }
        total = sum(expected.values())
        return {stratum: one / total for stratum, one in expected.items()} if total else {}


def _pace(pairs: Iterable[tuple[Cell, Shape]], noise: float) -> tuple[float, float] | None:
    """Return seconds per expected second of the latest samples, and the relative error."""
    seconds = expected = squares = 0.0
    for cell, shape in pairs:
        recent, of_shape = cell.recent, shape.seconds_per_token
        seconds += recent.seconds
        expected += recent.tokens * of_shape
        squares += recent.tokens_squared * of_shape * of_shape
    effective = expected**2 / squares if squares else 0.0
    if effective < MIN_EFFECTIVE:
        return None
    return seconds / expected, noise / math.sqrt(effective)
