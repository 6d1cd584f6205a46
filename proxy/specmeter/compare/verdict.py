"""Faster, slower, or cannot tell: what repeats of two servers say. Pure.

A cell is one prompt at one length. Each server has a few speeds of it, from repeats that ran
interleaved::

    speedup      median of the speculative / median of the plain
    worst case   slowest speculative       / fastest plain
    best case    fastest speculative       / slowest plain
    range ratio  fastest / slowest of one server: the noise

*Faster* asks for two things, *slower* for their mirror image:

1. The worst case is above 1: every repeat of the one was faster than every repeat of the other.
2. The medians lie further apart than the noise: the speedup is above g to the power of f, where g
   is the geometric mean of both range ratios, or what that usually is in the cells of the same
   comparison if it is more: the ranges of three repeats are sometimes narrow by luck.

The first one alone would be met by chance too often, as three repeats each of equal servers lie
apart in one case of ten. The second is Lord's test (E. Lord, Biometrika 34, 1947: a difference of
two centres in units of the mean range), with medians and the logarithms of speeds. f is 1 where
the first condition makes errors rare by itself, and larger for two or three repeats, such that of
equal servers whose speeds vary log-normally at most 5 % are called faster or slower: 3.5 for two,
1.25 for three (simulated: 4.9 %, 4.8 %; 1.6 % for four, 0.4 % for five). Of six cells in one
comparison, as many as there are without further flags, three repeats call 1.5 % of the cells, and
the whole in 5 %; on a machine on which something else runs a third of the time it is 4.7 % and 5 %,
and with five repeats below 0.3 %. One repeat shows no noise, so it tells nothing. Many repeats have
wide ranges: three to seven tell most.

This gives the three answers that it has to give:

* A speedup of 1.12 where a range ratio is 1.26 is *cannot tell*, whatever the other one and however
  many repeats: g is at least the root of 1.26, which is 1.1225.
* 6.43 with such noise is *faster*.
* 21.04-25.23 against 33.98-50.34 tok/s is *slower*, at best 0.74, from four repeats on whatever
  their medians, as these differ by 1.35 at least and g is 1.33; with three if they are near the
  middle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import msgspec

from specmeter.speedup.interval import Verdict

_FACTORS = {2: 3.5, 3: 1.25}
"""By how many repeats the server with fewer of them has."""


class Speeds(msgspec.Struct, frozen=True):
    """Tokens per second of one server's repeats."""

    median: float
    slowest: float
    fastest: float
    repeats: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Speeds:
        """Sum up repeats (at least one; each > 0)."""
        return cls(median(values), min(values), max(values), len(values))

    @property
    def range_ratio(self) -> float:
        """Fastest over slowest (>= 1)."""
        return self.fastest / self.slowest


class Comparison(msgspec.Struct, frozen=True):
    """One server's speeds beside another's."""

    spec: Speeds
    plain: Speeds
    usual_spread: float = 1.0
    """The usual `spread` of such comparisons (>= 1)."""

    @property
    def spread(self) -> float:
        """The geometric mean of both range ratios (>= 1)."""
        return math.sqrt(self.spec.range_ratio * self.plain.range_ratio)

    @property
    def speedup(self) -> float:
        """Median over median."""
        return self.spec.median / self.plain.median

    @property
    def worst(self) -> float:
        """Slowest speculative over fastest plain."""
        return self.spec.slowest / self.plain.fastest

    @property
    def best(self) -> float:
        """Fastest speculative over slowest plain."""
        return self.spec.fastest / self.plain.slowest

    @property
    def noise(self) -> float:
        """How far apart, as a ratio (>= 1), the medians have to be to tell; infinite if nothing."""
        repeats = min(self.spec.repeats, self.plain.repeats)
        if repeats <= 1:
            return math.inf
        spread = max(self.spread, self.usual_spread)
        return math.pow(spread, _FACTORS.get(repeats, 1.0))

    @property
    def verdict(self) -> Verdict:
        """What can be said."""
        if self.worst > 1 and self.speedup > self.noise:
            return Verdict.FASTER
        if self.best < 1 and self.speedup < 1 / self.noise:
            return Verdict.SLOWER
        return Verdict.CANNOT_TELL
