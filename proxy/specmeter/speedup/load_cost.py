"""What more requests in flight cost each of them, per doubling: learned, and believed before that.

A server whose steps only wait for memory takes hardly longer for two requests than for one; one
whose processors are busy takes twice as long. So little is known before there are samples of more
than one load; and what they say of these loads holds less well for others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from specmeter.speedup.ratio import Ratio
from specmeter.speedup.strata import Stratum

BEND = 0.1
"""As far as the growth may differ between loads, at least."""

_MOST_GROWTH = math.log(4)
"""Four times as long: whatever samples say, it is not more, nor the opposite."""

_USUAL_GROWTH = 0.2
_USUAL_ERROR = 0.2


class LoadCost(msgspec.Struct, frozen=True):
    """How plain seconds per token grow with the load."""

    growth: float
    """Of their logarithm, per doubling of the requests in flight."""
    error: float
    """Standard error of `growth`."""

    def factor(self, doublings: float) -> float:
        """Return how much longer a token takes at so many doublings more."""
        return math.exp(self.growth * doublings)


USUAL_COST = LoadCost(_USUAL_GROWTH, math.hypot(_USUAL_ERROR, BEND))
"""Before anything is known."""


def load_cost(samples: Mapping[Stratum, Ratio], noise: float) -> LoadCost:
    """Return what load costs: the usual, corrected by samples of equal contexts.

    Args:
        samples: By stratum.
        noise: Relative standard deviation of one sample.
    """
    weight = _USUAL_ERROR**-2
    product = 0.0
    for context in {stratum.context for stratum in samples}:
        points = [
            (one.doublings, math.log(ratio.mean), ratio.effective / noise**2)
            for one, ratio in samples.items()
            if one.context == context and one.doublings is not None
        ]
        total = sum(of for _, _, of in points)
        if not total:
            continue
        middle = sum(of * doublings for doublings, _, of in points) / total
        for doublings, logarithm, of in points:
            weight += of * (doublings - middle) ** 2
            product += of * (doublings - middle) * (logarithm - _USUAL_GROWTH * doublings)
    growth = min(max(_USUAL_GROWTH + product / weight, -_MOST_GROWTH), _MOST_GROWTH)
    return LoadCost(growth, math.hypot(weight**-0.5, BEND))
