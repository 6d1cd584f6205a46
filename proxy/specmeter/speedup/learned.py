"""What a live baseline remembers of its samples.

Ratios of means throughout: seconds are added up, tokens are added up, and then divided.

One stalled sample must not move the baseline, yet the completions that it is compared with have
stalls as well, so nothing may be thrown away. What goes beyond four times the expected is put
aside into the tail, which has a long memory: in the long run the mean is right.
"""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

from specmeter.speedup.baseline import Sample
from specmeter.speedup.ratio import Ratio, Sum
from specmeter.speedup.strata import Stratum

SHAPE_SAMPLES = 500
"""A stratum's own mean remembers so many samples."""

PACE_SECONDS = 3600.0
PACE_SAMPLES = (8, 64)
"""The pace remembers an hour, but no fewer than 8 samples and no more than 64."""

BODY = 4.0
"""Times the expected: what goes beyond is a stall."""

MOST = 20.0
"""Times the expected: what goes beyond is a fault of a clock and left out."""

HEAVIEST = 2.0
"""Times the mean: a longer sample weighs no more, lest the pace hang on one or two."""

TAIL_PRIOR = 100.0
"""Samples without a stall that are taken for granted."""


class Cell(msgspec.Struct):
    """The samples of one stratum, without the tail."""

    stratum: Stratum
    recent: Ratio = msgspec.field(default_factory=Ratio)
    """As the pace remembers them."""
    lasting: Ratio = msgspec.field(default_factory=Ratio)
    """As the stratum's own mean remembers them: at the usual pace."""


class Tail(msgspec.Struct):
    """What stalls add, over the last 500 samples of all strata."""

    expected: Sum = 0.0
    expected_squared: Sum = 0.0
    excess: Sum = 0.0
    excess_squared: Sum = 0.0

    def add(self, expected: float, excess: float) -> None:
        """Add a sample: the seconds expected of it, and those beyond `BODY` times that."""
        keep = 1 - 1 / SHAPE_SAMPLES
        self.expected = self.expected * keep + expected
        self.excess = self.excess * keep + excess
        self.expected_squared = self.expected_squared * keep**2 + expected**2
        self.excess_squared = self.excess_squared * keep**2 + excess**2

    def share(self) -> tuple[float, float]:
        """Return the seconds that stalls add to each second without, and their error."""
        if self.excess <= 0:
            return 0.0, 0.0
        effective = self.expected**2 / self.expected_squared
        whole = self.expected * (1 + TAIL_PRIOR / effective)
        return self.excess / whole, math.sqrt(self.excess_squared) / whole


class Learned(msgspec.Struct):
    """The samples of a live baseline, as sums."""

    cells: list[Cell] = msgspec.field(default_factory=list)
    tail: Tail = msgspec.field(default_factory=Tail)
    count: Sum = 0.0
    """Of the recent samples; what is older counts less."""
    expected: Sum = 0.0
    """Seconds expected of the recent samples."""
    weight: Sum = 0.0
    """The same, but no sample more than `HEAVIEST`."""
    weighted_at: Sum = 0.0
    """Sum of the recent samples' times, each times its weight."""
    last_at: Sum = 0.0
    """Unix time of the newest sample; 0 before the first."""
    samples: Annotated[int, msgspec.Meta(ge=0)] = 0

    @property
    def measured_at(self) -> float:
        """Unix time, the mean of the recent samples; 0 before the first."""
        return self.weighted_at / self.weight if self.weight else 0.0

    @property
    def is_sound(self) -> bool:
        """Whether these numbers can come from samples: not if a file was tampered with."""
        return all(
            cell.stratum.is_known
            and 0 < cell.lasting.seconds < math.inf
            and 0 < cell.lasting.tokens < math.inf
            and 0 < cell.lasting.tokens_squared < math.inf
            for cell in self.cells
        ) and (self.samples > 0) == bool(self.cells) == (self.tail.expected_squared > 0)

    @property
    def mean(self) -> float:
        """Seconds per token over all strata at the usual pace; there has to be a sample."""
        seconds = sum(cell.lasting.seconds for cell in self.cells)
        return seconds / sum(cell.lasting.tokens for cell in self.cells)

    def fold(self, sample: Sample, usual: float, pace: float) -> None:
        """Add a sample.

        Args:
            sample: Of a plain server.
            usual: Seconds per token that are expected without a stall, at the usual pace (> 0).
            pace: How slow the latest samples were, 1 being usual (> 0).
        """
        least, most = 1 / PACE_SAMPLES[1], 1 / PACE_SAMPLES[0]
        keep = math.exp(-min(max((sample.at - self.last_at) / PACE_SECONDS, least), most))
        for cell in self.cells:
            cell.recent.fade(keep)
        cell = self._cell(sample.stratum)
        cell.lasting.fade(1 - 1 / SHAPE_SAMPLES)
        expected = sample.tokens * usual * pace
        body = min(sample.seconds, BODY * expected)
        self.count = self.count * keep + 1
        self.expected = self.expected * keep + expected
        weight = min(HEAVIEST * self.expected / self.count / expected, 1.0)
        cell.recent.add(weight * body, weight * sample.tokens)
        cell.lasting.add(weight * body / pace, weight * sample.tokens)
        self.tail.add(weight * expected, weight * (min(sample.seconds, MOST * expected) - body))
        self.weight = self.weight * keep + weight * expected
        self.weighted_at = self.weighted_at * keep + weight * expected * sample.at
        self.last_at = sample.at
        self.samples += 1

    def _cell(self, stratum: Stratum) -> Cell:
        for cell in self.cells:
            if cell.stratum == stratum:
                return cell
        self.cells.append(made := Cell(stratum))
        return made
