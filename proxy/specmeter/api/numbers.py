"""Numbers over a set of completions, each ratio beside the two numbers it is made of."""

from __future__ import annotations

import msgspec

from specmeter.speedup.baseline import Source
from specmeter.speedup.interval import Verdict, speedup
from specmeter.tally.counts import Counts

_DIGITS = 6
"""Decimals: enough that rounding once more for people is right, as a rule."""


class _Number(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is unknown is left out of the JSON."""


class Fraction(_Number, frozen=True):
    """A ratio with its numerator and denominator."""

    value: float
    over: float
    under: float


class SpeedupNumber(_Number, frozen=True):
    """Plain seconds per second spent, with its 95 % interval."""

    value: float
    plain_seconds: float
    """What the same tokens would have taken without speculation, as the baseline has it."""
    spent_seconds: float
    completions: int
    """Those that have a baseline."""
    verdict: Verdict
    low: float | None = None
    """Absent, with `high`, if there are too few completions to say."""
    high: float | None = None
    baselines: dict[Source, int] = {}
    """Completions by the source of their baseline."""
    stale: int = 0
    """Completions whose baseline is of another build or model."""


class Numbers(_Number, frozen=True):
    """What is known of a set of completions."""

    completions: int
    drafted: int
    not_drafted: int
    not_reported: int
    generated: int
    acceptance: Fraction | None = None
    """Accepted / drafted tokens."""
    output_per_step: Fraction | None = None
    """Generated tokens / runs of the target."""
    mean_acceptance_length: Fraction | None = None
    """1 + accepted tokens / rounds that had a draft; `over` is the accepted tokens."""
    tokens_per_second: Fraction | None = None
    """Decoded tokens / decode seconds, of one request."""
    speedup: SpeedupNumber | None = None
    step_ms: float | None = None
    """Milliseconds of decoding for each run of the target."""
    break_even_ms: float | None = None
    """What the tokens of such a run would have taken without speculation: the most that the run
    may take. Then `step_ms` is of the same completions, those that have a baseline."""
    first_token_ms: float | None = None


def numbers_from(counts: Counts) -> Numbers:
    """Return what follows from counts."""
    paired = counts.paired_steps > 0
    steps = counts.paired_steps if paired else counts.work_steps
    seconds = counts.paired_seconds if paired else counts.work_seconds
    return Numbers(
        completions=int(counts.completions),
        drafted=int(counts.drafted_completions),
        not_drafted=int(counts.not_drafted),
        not_reported=int(counts.not_reported),
        generated=int(counts.generated),
        acceptance=fraction(counts.accepted, counts.drafted),
        output_per_step=fraction(counts.step_tokens, counts.steps),
        mean_acceptance_length=fraction(counts.round_accepted, counts.rounds, plus=1.0),
        tokens_per_second=fraction(counts.decode_tokens, counts.decode_seconds),
        speedup=_speedup(counts),
        step_ms=_per(1000 * seconds, steps),
        break_even_ms=_per(1000 * counts.paired_plain, counts.paired_steps),
        first_token_ms=_per(1000 * counts.first_token_seconds, counts.first_tokens),
    )


def fraction(over: float, under: float, plus: float = 0.0) -> Fraction | None:
    """Return a ratio; `None` if its denominator is 0."""
    if under <= 0:
        return None
    return Fraction(_rounded(plus + over / under), _rounded(over), _rounded(under))


def _speedup(counts: Counts) -> SpeedupNumber | None:
    found = speedup(counts.sums)
    if found is None:
        return None
    interval = found.interval
    return SpeedupNumber(
        value=_rounded(found.ratio),
        plain_seconds=_rounded(counts.plain),
        spent_seconds=_rounded(counts.spent),
        completions=int(counts.compared),
        verdict=found.verdict,
        low=None if interval is None else _rounded(interval.low),
        high=None if interval is None else _rounded(interval.high),
        baselines=counts.sources,
        stale=int(counts.stale),
    )


def _per(over: float, under: float) -> float | None:
    return _rounded(over / under) if under > 0 else None


def _rounded(number: float) -> float:
    return round(number, _DIGITS)
