"""What a step of the target costs: a fixed part, and a part for each drafted token.

Seconds are fitted as a·steps + b·drafted over recent completions. With a baseline they are first
divided by what one token takes without speculation, which takes out context and load; a cost of
1.6 then means that a step has to bring back 1.6 tokens to break even.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from specmeter.speedup.interval import Interval, Z
from specmeter.speedup.line_fit import LineFit, Row, fit
from specmeter.speedup.work import Work

MIN_COMPLETIONS = 20
MIN_SPREAD = 0.1
"""Drafted tokens per step have to vary so much (standard deviation), or the parts are one."""


class Cost(msgspec.Struct, frozen=True):
    """A number and where the truth lies in 95 of 100 cases."""

    value: float
    interval: Interval


class StepCost(msgspec.Struct, frozen=True):
    """What a step costs.

    Attributes:
        fit: In plain tokens, or in seconds if there is no baseline.
        token_seconds: What a plain token took on average; 1 if there is no baseline.
        drafted_per_step: Of the completions that were fitted.
        tokens_per_step: Of the same.
    """

    fit: LineFit
    token_seconds: float
    drafted_per_step: float
    tokens_per_step: float
    in_plain_tokens: bool

    @property
    def step_seconds(self) -> Cost:
        """The fixed part: a step without a draft."""
        return self._seconds(self.fit.a, math.sqrt(max(self.fit.a_variance, 0.0)))

    @property
    def draft_seconds(self) -> Cost:
        """The part for each drafted token."""
        return self._seconds(self.fit.b, math.sqrt(max(self.fit.b_variance, 0.0)))

    @property
    def break_even(self) -> Cost | None:
        """Tokens that a step has to bring back at the present drafts; `None` without a baseline."""
        if not self.in_plain_tokens:
            return None
        return _cost(*self.fit.at(self.drafted_per_step))

    def _seconds(self, value: float, error: float) -> Cost:
        return _cost(self.token_seconds * value, self.token_seconds * error)


def seconds_per_step(works: Sequence[Work]) -> float | None:
    """Return decode seconds per step of the target; `None` if nothing is known."""
    steps = sum(work.steps for work in works)
    return sum(work.seconds for work in works) / steps if steps else None


def step_cost(works: Sequence[Work]) -> StepCost | None:
    """Split what steps cost; `None` for too few completions, or drafts that do not vary.

    Those without a baseline are left out if there are enough with one.
    """
    based = [work for work in works if work.plain_seconds]
    in_plain_tokens = len(based) >= MIN_COMPLETIONS
    used = based if in_plain_tokens else list(works)
    if len(used) < MIN_COMPLETIONS or _spread(used) < MIN_SPREAD:
        return None
    rows = [
        Row(work.seconds / _token_seconds(work, in_plain_tokens), work.steps, work.drafted)
        for work in used
    ]
    found = fit(rows)
    if found is None:
        return None
    steps = sum(work.steps for work in used)
    tokens = sum(work.tokens for work in used)
    plain = sum(work.plain_seconds or 0.0 for work in used)
    return StepCost(
        fit=found,
        token_seconds=plain / tokens if in_plain_tokens else 1.0,
        drafted_per_step=sum(work.drafted for work in used) / steps,
        tokens_per_step=tokens / steps,
        in_plain_tokens=in_plain_tokens,
    )


def _token_seconds(work: Work, in_plain_tokens: bool) -> float:
    return (work.plain_seconds or 0.0) / work.tokens if in_plain_tokens else 1.0


def _spread(works: Sequence[Work]) -> float:
    """Return the standard deviation of drafted tokens per step, over completions."""
    each = [work.drafted / work.steps for work in works]
    mean = sum(each) / len(each)
    return math.sqrt(sum((one - mean) ** 2 for one in each) / (len(each) - 1))


def _cost(value: float, error: float) -> Cost:
    return Cost(value, Interval(value - Z * error, value + Z * error))
