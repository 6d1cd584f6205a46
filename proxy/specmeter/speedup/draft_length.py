"""The speedup to expect at each draft length, from acceptance by position and the cost of a step.

An estimate, not a fact: that a position is accepted as often in a shorter draft as it is now, is
an assumption (drafters differ), and the cost of a step is fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from specmeter.speedup.interval import Interval, Z
from specmeter.speedup.step_cost import StepCost
from specmeter.speedup.work import Work


class DraftLength(msgspec.Struct, frozen=True):
    """What to expect of drafts of at most so many tokens."""

    length: int
    speedup: float
    interval: Interval
    now: bool
    """Whether it is the length in use."""


def draft_lengths(
    works: Sequence[Work], cost: StepCost, baseline_error: float
) -> tuple[DraftLength, ...]:
    """Return what to expect of each length up to the present one, longer ones being unknown.

    Args:
        works: Recent completions.
        cost: Of their steps.
        baseline_error: The baseline's relative error.

    Returns:
        Nothing without a baseline, or if the server does not report positions and rounds.
    """
    told = [work for work in works if not work.drafted or (work.positions and work.rounds)]
    steps = sum(work.steps for work in told)
    rounds = sum(work.rounds or 0 for work in told)
    longest = max((len(work.positions or ()) for work in told), default=0)
    if not rounds or not longest or not cost.in_plain_tokens:
        return ()
    mean_length = sum(work.drafted for work in told) / rounds
    found = []
    tokens = 1.0
    for length in range(1, longest + 1):
        tokens += sum(_at(work.positions, length - 1) for work in told) / steps
        drafted = rounds / steps * min(length, mean_length)
        per_step, error = cost.fit.at(drafted)
        if per_step <= 0:
            return ()
        speedup = tokens / per_step
        half = Z * speedup * math.hypot(error / per_step, baseline_error)
        found.append(
            DraftLength(
                length=length,
                speedup=speedup,
                interval=Interval(max(speedup - half, 0.0), speedup + half),
                now=length == longest,
            )
        )
    return tuple(found)


def _at(positions: tuple[int, ...] | None, index: int) -> int:
    return positions[index] if positions and index < len(positions) else 0
