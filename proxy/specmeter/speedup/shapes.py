"""What each stratum takes per token at the usual pace; a coarser one stands in where that is safer.

A stratum's own mean is off by the noise of its few samples, a coarser one's by what the strata in
it differ by. The one that is less off is taken. A plain server that only gets a share of the
traffic is less busy than the one that it is compared with, so that whole loads may be without
samples: what load costs is then taken from the loads that have some, and from what is usual.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from specmeter.speedup.interval import MIN_EFFECTIVE
from specmeter.speedup.learned import Cell
from specmeter.speedup.load_cost import LoadCost, load_cost
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
    load_error: float
    """Relative error by what load costs, the same way in all strata; negative where the samples
    are of higher loads."""
    stratum: Stratum
    """The stratum itself, or the coarser one that stands in for it."""

    @property
    def whole_error(self) -> float:
        """Relative error of this stratum alone."""
        return math.hypot(self.relative_error, self.load_error)


class Shapes:
    """The shapes of all strata, from the samples of some.

    Attributes:
        noise: Relative standard deviation of one sample among those of its stratum.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        lasting = {cell.stratum: cell.lasting for cell in cells}
        self.noise = _noise(lasting.values())
        self._cost = load_cost(lasting, self.noise)
        parts: dict[Stratum, dict[Stratum, Ratio]] = {}
        for stratum, ratio in lasting.items():
            for coarser in stratum.chain():
                parts.setdefault(coarser, {})[stratum] = ratio
        self._known = {
            stratum: _Known(stratum, some, self._cost, self.noise)
            for stratum, some in parts.items()
        }
        whole = self._known.get(Stratum())
        self._enough = whole is not None and whole.ratio.effective >= MIN_EFFECTIVE
        self._best: dict[Stratum, Shape] = {}

    def of(self, stratum: Stratum) -> Shape | None:
        """Return what is known of a stratum; `None` if there are too few samples of all."""
        if not self._enough:
            return None
        best = self._best.get(stratum)
        if best is None:
            known = (self._known[one] for one in stratum.chain() if one in self._known)
            shapes = (one.stand_in(stratum, self._cost) for one in known)
            best = self._best[stratum] = min(shapes, key=lambda shape: shape.whole_error)
        return best


class _Known:
    """What the samples in a stratum, a coarse one perhaps, have in common."""

    def __init__(
        self, stratum: Stratum, parts: Mapping[Stratum, Ratio], cost: LoadCost, noise: float
    ) -> None:
        self.ratio = Ratio()
        for part in parts.values():
            self.ratio.include(part)
        self._stratum = stratum
        self._doublings = _mean_doublings(parts)
        differ = 0.0
        if ANY in (stratum.context, stratum.in_flight):
            least = CONTEXTS_DIFFER if stratum.context == ANY else LOADS_DIFFER
            differ = max(self._spread(parts, cost), least)
        self._error = math.hypot(noise / math.sqrt(self.ratio.effective), differ)

    def stand_in(self, stratum: Stratum, cost: LoadCost) -> Shape:
        """Return what follows for this stratum, or for a finer one in it."""
        above = self._above(stratum) if stratum != self._stratum else 0.0
        return Shape(
            seconds_per_token=self.ratio.mean * cost.factor(above),
            relative_error=self._error,
            load_error=cost.error * above,
            stratum=self._stratum,
        )

    def _above(self, stratum: Stratum) -> float:
        """Return how many doublings of load a stratum is above the samples."""
        doublings = stratum.doublings
        return 0.0 if doublings is None or self._doublings is None else doublings - self._doublings

    def _spread(self, parts: Mapping[Stratum, Ratio], cost: LoadCost) -> float:
        """Return how far parts are off their whole (root mean square, relative)."""
        squares = 0.0
        for stratum, part in parts.items():
            expected = self.ratio.mean * cost.factor(self._above(stratum))
            squares += part.tokens * (part.mean / expected - 1) ** 2
        return math.sqrt(squares / self.ratio.tokens)


def _mean_doublings(parts: Mapping[Stratum, Ratio]) -> float | None:
    seconds = sum(part.seconds for one, part in parts.items() if one.doublings is not None)
    if not seconds:
        return None
    return sum(part.seconds * (one.doublings or 0) for one, part in parts.items()) / seconds


def _noise(parts: Iterable[Ratio]) -> float:
    squares = USUAL_WEIGHT * USUAL_NOISE**2
    freedom = USUAL_WEIGHT
    for part in parts:
        relative = part.variance(part.mean) / (part.mean**2 * part.tokens_squared)
        squares += part.effective * relative
        freedom += part.effective - 1
    return math.sqrt(squares / freedom)
