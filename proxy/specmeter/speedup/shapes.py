"""What each stratum takes per token at the usual pace; a coarser one stands in where that is safer.

A stratum's own mean is off by the noise of its few samples, a coarser one's by what the strata in
it differ by. The one that is less off is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from specmeter.speedup.interval import MIN_EFFECTIVE
from specmeter.speedup.learned import Cell
from specmeter.speedup.ratio import Ratio
from specmeter.speedup.strata import ANY, Stratum

LOADS_DIFFER = 0.1
CONTEXTS_DIFFER = 0.3
"""At least so far may strata of different loads, and of different contexts, be apart (relative)."""

USUAL_NOISE = 0.2
USUAL_WEIGHT = 4.0
"""Relative standard deviation of one sample, believed like that of so many samples."""


class Shape(msgspec.Struct, frozen=True):
    """What is known of a stratum."""

    seconds_per_token: float
    relative_error: float
    """Of this stratum among the others."""
    stratum: Stratum
    """The stratum itself, or the coarser one that stands in for it."""


class Shapes:
    """The shapes of all strata, from the samples of some.

    Attributes:
        noise: Relative standard deviation of one sample among those of its stratum.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        parts: dict[Stratum, list[Ratio]] = {}
        for cell in cells:
            for stratum in cell.stratum.chain():
                parts.setdefault(stratum, []).append(cell.lasting)
        self.noise = _noise(parts.get(Stratum(), ()))
        self._known = {stratum: self._shape(stratum, some) for stratum, some in parts.items()}
        self._enough = _sum(parts.get(Stratum(), ())).effective >= MIN_EFFECTIVE
        self._best: dict[Stratum, Shape] = {}

    def of(self, stratum: Stratum) -> Shape | None:
        """Return what is known of a stratum; `None` if there are too few samples of all."""
        if not self._enough:
            return None
        best = self._best.get(stratum)
        if best is None:
            known = (self._known[one] for one in stratum.chain() if one in self._known)
            best = self._best[stratum] = min(known, key=lambda shape: shape.relative_error)
        return best

    def _shape(self, stratum: Stratum, parts: list[Ratio]) -> Shape:
        whole = _sum(parts)
        differ = 0.0
        if stratum.context == ANY:
            differ = max(_spread(whole, parts), CONTEXTS_DIFFER)
        elif stratum.in_flight == ANY:
            differ = max(_spread(whole, parts), LOADS_DIFFER)
        error = math.hypot(self.noise / math.sqrt(whole.effective), differ)
        return Shape(whole.mean, error, stratum)


def _sum(parts: Iterable[Ratio]) -> Ratio:
    whole = Ratio()
    for part in parts:
        whole.include(part)
    return whole


def _spread(whole: Ratio, parts: Iterable[Ratio]) -> float:
    """Return how far parts are off their whole (root mean square, relative)."""
    squares = sum(part.tokens * (part.mean / whole.mean - 1) ** 2 for part in parts)
    return math.sqrt(squares / whole.tokens)


def _noise(parts: Iterable[Ratio]) -> float:
    squares = USUAL_WEIGHT * USUAL_NOISE**2
    freedom = USUAL_WEIGHT
    for part in parts:
        relative = part.variance(part.mean) / (part.mean**2 * part.tokens_squared)
        squares += part.effective * relative
        freedom += part.effective - 1
    return math.sqrt(squares / freedom)
