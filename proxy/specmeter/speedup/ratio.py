"""Seconds per token of a set of samples: a ratio of means, with its error."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

from specmeter.speedup.interval import MIN_EFFECTIVE, small_sample

Sum = Annotated[float, msgspec.Meta(ge=0)]


class Ratio(msgspec.Struct):
    """Weighted sums of samples; what is older can be made to weigh less."""

    seconds: Sum = 0.0
    tokens: Sum = 0.0
    seconds_squared: Sum = 0.0
    """These three with squared weights."""
    cross: Sum = 0.0
    tokens_squared: Sum = 0.0

    def fade(self, factor: float) -> None:
        """Multiply the weight of all samples so far (0 to 1)."""
        square = factor * factor
        self.seconds *= factor
        self.tokens *= factor
        self.seconds_squared *= square
        self.cross *= square
        self.tokens_squared *= square

    def add(self, seconds: float, tokens: float) -> None:
        """Add a sample; both numbers times the same factor give it another weight."""
        self.seconds += seconds
        self.tokens += tokens
        self.seconds_squared += seconds * seconds
        self.cross += seconds * tokens
        self.tokens_squared += tokens * tokens

    def include(self, other: Ratio) -> None:
        """Add another set of samples."""
        self.seconds += other.seconds
        self.tokens += other.tokens
        self.seconds_squared += other.seconds_squared
        self.cross += other.cross
        self.tokens_squared += other.tokens_squared

    @property
    def mean(self) -> float:
        """Seconds per token; there has to be a sample."""
        return self.seconds / self.tokens

    @property
    def effective(self) -> float:
        """How many equal samples these are worth (0 for none)."""
        return self.tokens**2 / self.tokens_squared if self.tokens_squared > 0 else 0.0

    def variance(self, mean: float) -> float:
        """Return the variance of `seconds`, in s², about so many seconds per token."""
        squares = self.seconds_squared - 2 * mean * self.cross + mean * mean * self.tokens_squared
        return max(squares, 0.0)

    @property
    def relative_error(self) -> float:
        """The standard error per unit of `mean`; infinite for fewer than four equal samples."""
        effective = self.effective
        if effective < MIN_EFFECTIVE:
            return math.inf
        return small_sample(effective) * math.sqrt(self.variance(self.mean)) / self.seconds
