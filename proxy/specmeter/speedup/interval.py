"""Speedup and its 95 % interval, from sums that add up over time and replicas.

For each completion X is the seconds it took, Y the seconds that its baseline says it would have
taken, E the baseline's share of doubt in Y (Y times the relative error). With the sums of X, Y,
X², Y², XY and E over any set of completions::

    R     = ΣY / ΣX                           the speedup
    V     = (ΣY² - 2R·ΣXY + R²·ΣX²) / (ΣX)²   variance of R by the delta method
    n     = (ΣX)² / ΣX²                       how many equal completions these are worth
    s     = t(n - 1) · n/(n - 2) · √V         what chance among completions comes to
    b     = 1.96 · ΣE/ΣY                      what the baseline's error comes to, relative
    low   = R - √( s² + (R·b/(1 + b))² )
    high  = R + √( s² + (R·b/(1 - b))² )

A long completion weighs more than a short one, so fifty of them are worth twenty-five or so, and
what counts for the small-sample corrections is n, not how many there were. Residuals are smaller
than errors, as R was fitted to them: n/(n - 2) makes up for that, and t for n being small.
A baseline that is b too high by its error makes R too high in the same proportion, so that the
truth is R/(1 + b); one that is b too low, R/(1 - b).
All this was chosen by simulation: `tests/benchmarks/speedup_report.py`.

The recording rules hold the same arithmetic. Where `plain`, `spent`, `plain2`, `spent2`, `cross`
and `doubt` stand for `sum without (instance, baseline) (increase(specmeter_..._total[1h]))` of
completions that have a baseline::

    R     plain / spent
    n     spent ^ 2 / spent2
    V     clamp_min(plain2 - 2 * R * cross + R ^ 2 * spent2, 0) / spent ^ 2
    t     1.959964 + 2.3723 / (n - 1) + 2.8225 / (n - 1) ^ 2 + 2.5558 / (n - 1) ^ 3
    s2    (t * n / (n - 2)) ^ 2 * V and n >= 4
    b     clamp_max(1.959964 * doubt / plain, 0.9)
    low   clamp_min(R - sqrt(s2 + (R * b / (1 + b)) ^ 2), 0)
    high  R + sqrt(s2 + (R * b / (1 - b)) ^ 2)
"""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

Z = 1.959964
"""The normal distribution's quantile for 95 %, two-sided."""

MOST_OFF = 0.9
"""A baseline that may be further off than that says nothing anyway."""

MIN_EFFECTIVE = 4.0
"""Below so many equal completions there is no interval."""


class Verdict(StrEnum):
    """What the interval says."""

    FASTER = "faster"
    SLOWER = "slower"
    CANNOT_TELL = "cannot_tell"
    """1.0 lies in the interval, or there are too few completions for one."""
    NO_BASELINE = "no_baseline"


class Sums(msgspec.Struct, frozen=True):
    """What is known of a set of completions; sums of disjoint sets add up."""

    count: int = 0
    spent: float = 0.0
    """ΣX: seconds of decoding."""
    plain: float = 0.0
    """ΣY: seconds that the baseline gives."""
    spent_squared: float = 0.0
    plain_squared: float = 0.0
    cross: float = 0.0
    """ΣXY."""
    doubt: float = 0.0
    """ΣE: plain seconds times their baseline's relative error."""

    @classmethod
    def of(cls, spent: float, plain: float, relative_error: float = 0.0) -> Sums:
        """Return the sums of one completion.

        Args:
            spent: Seconds of decoding (> 0).
            plain: Seconds that the baseline gives (> 0).
            relative_error: The baseline's standard error per plain second (>= 0).
        """
        return cls(
            count=1,
            spent=spent,
            plain=plain,
            spent_squared=spent * spent,
            plain_squared=plain * plain,
            cross=spent * plain,
            doubt=plain * relative_error,
        )

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            count=self.count + other.count,
            spent=self.spent + other.spent,
            plain=self.plain + other.plain,
            spent_squared=self.spent_squared + other.spent_squared,
            plain_squared=self.plain_squared + other.plain_squared,
            cross=self.cross + other.cross,
            doubt=self.doubt + other.doubt,
        )

    @property
    def effective(self) -> float:
        """How many completions of equal length these are worth (1 to `count`; 0 for none)."""
        return self.spent**2 / self.spent_squared if self.spent_squared > 0 else 0.0


class Interval(msgspec.Struct, frozen=True):
    """Where the truth lies in 95 of 100 cases."""

    low: float
    """At least 0."""
    high: float


class Speedup(msgspec.Struct, frozen=True):
    """Plain seconds per second spent, over a set of completions."""

    ratio: float
    """Above 1: faster than without speculation."""
    interval: Interval | None
    """`None` if there are too few completions to say."""

    @property
    def verdict(self) -> Verdict:
        """What can be said."""
        if self.interval is None:
            return Verdict.CANNOT_TELL
        if self.interval.low > 1:
            return Verdict.FASTER
        if self.interval.high < 1:
            return Verdict.SLOWER
        return Verdict.CANNOT_TELL


def speedup(sums: Sums) -> Speedup | None:
    """Return the speedup; `None` without a completion that has a baseline."""
    if sums.spent <= 0 or sums.plain <= 0:
        return None
    ratio = sums.plain / sums.spent
    effective = sums.effective
    if effective < MIN_EFFECTIVE:
        return Speedup(ratio, None)
    variance = (
        sums.plain_squared - 2 * ratio * sums.cross + ratio * ratio * sums.spent_squared
    ) / sums.spent**2
    # Rounding leaves a little less than 0 where all ratios are equal.
    sampling = Z * small_sample(effective) * math.sqrt(max(variance, 0.0))
    off = min(Z * sums.doubt / sums.plain, MOST_OFF)
    low = ratio - math.hypot(sampling, ratio * off / (1 + off))
    high = ratio + math.hypot(sampling, ratio * off / (1 - off))
    return Speedup(ratio, Interval(max(low, 0.0), high))


def verdict(sums: Sums) -> Verdict:
    """Return what can be said of a set of completions."""
    found = speedup(sums)
    return Verdict.NO_BASELINE if found is None else found.verdict


def small_sample(effective: float) -> float:
    """Return how much more doubt there is than the delta method says (> 1).

    Args:
        effective: What the sample is worth in equal ones (>= `MIN_EFFECTIVE`).
    """
    return t_quantile(effective - 1) / Z * effective / (effective - 2)


def t_quantile(freedom: float) -> float:
    """Return the t distribution's quantile for 95 %, two-sided, from 3 degrees of freedom on.

    Its expansion in 1/freedom (Abramowitz and Stegun 26.7.5) is right to 1 % at 3, to 0.2 % from
    5 on, and can be written in PromQL.
    """
    return Z + 2.3723 / freedom + 2.8225 / freedom**2 + 2.5558 / freedom**3
