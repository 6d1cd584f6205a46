"""What completions add up to; the numbers of disjoint sets add up."""

from __future__ import annotations

import msgspec

from specmeter.reading import Reading
from specmeter.speedup.baseline import Source
from specmeter.speedup.estimate import Estimate
from specmeter.speedup.interval import Sums
from specmeter.speedup.work import Work

Numbers = tuple[float, ...]
"""Numbers in the order of the fields of `Counts`; those that are left off at the end are 0."""

_BY_SOURCE = {one: tuple(int(one is source) for source in Source) for one in Source}


class Counts(msgspec.Struct, frozen=True):
    """Sums over a set of completions; every numerator stands beside its own denominator."""

    completions: float = 0.0
    drafted_completions: float = 0.0
    not_reported: float = 0.0
    """Completions that say nothing of drafting."""
    prompt: float = 0.0
    """A prompt that several outputs share counts once."""
    cached_prompt: float = 0.0
    generated: float = 0.0
    steps: float = 0.0
    """Runs of the target behind `step_tokens`."""
    step_tokens: float = 0.0
    drafted: float = 0.0
    accepted: float = 0.0
    round_completions: float = 0.0
    """Completions that report their rounds."""
    rounds: float = 0.0
    round_accepted: float = 0.0
    """Accepted tokens of completions that report their rounds."""
    first_tokens: float = 0.0
    """Completions behind `first_token_seconds`."""
    first_token_seconds: float = 0.0
    decode_tokens: float = 0.0
    decode_seconds: float = 0.0
    """Of completions of 8 tokens or more, as all that follows."""
    work_steps: float = 0.0
    """Runs of the target within `work_seconds`: without those for the prompt."""
    work_seconds: float = 0.0
    compared: float = 0.0
    """Completions that have a baseline, as all that follows; six sums are as in `Sums`."""
    spent: float = 0.0
    plain: float = 0.0
    spent_squared: float = 0.0
    plain_squared: float = 0.0
    cross: float = 0.0
    doubt: float = 0.0
    paired_steps: float = 0.0
    """Runs of the target within `paired_seconds`, and what the baseline gives for them."""
    paired_seconds: float = 0.0
    paired_plain: float = 0.0
    stale: float = 0.0
    """Completions whose baseline is of another build or model."""
    holdout: float = 0.0
    """Completions by the source of their baseline."""
    shadow: float = 0.0
    measured: float = 0.0
    fixed: float = 0.0
    undrafted: float = 0.0

    @property
    def sums(self) -> Sums:
        """What the speedup follows from."""
        return Sums(
            count=int(self.compared),
            spent=self.spent,
            plain=self.plain,
            spent_squared=self.spent_squared,
            plain_squared=self.plain_squared,
            cross=self.cross,
            doubt=self.doubt,
        )

    @property
    def reported(self) -> float:
        """Completions that say whether anything was drafted."""
        return self.completions - self.not_reported

    @property
    def not_drafted(self) -> float:
        """Completions that report, and in which nothing was drafted."""
        return self.completions - self.drafted_completions - self.not_reported

    @property
    def sources(self) -> dict[Source, int]:
        """Compared completions by the source of their baseline, most first."""
        found = {source: int(getattr(self, source)) for source in Source}
        return {key: found[key] for key in sorted(found, key=lambda one: -found[one]) if found[key]}


def numbers_of(
    reading: Reading, work: Work | None, estimate: Estimate | None, first: float | None
) -> Numbers:
    """Return what one completion adds; what is unknown adds nothing.

    Args:
        reading: What it said.
        work: What the target did for it.
        estimate: It against its baseline.
        first: Seconds to the first token.
    """
    told = _told(reading)
    waited = (0, 0.0) if first is None else (1, first)
    if (timed := reading.timed) is None:
        return told + waited
    worked = (0, 0.0) if work is None else (work.steps, work.seconds)
    alone = told + waited + timed + worked
    return alone if estimate is None else alone + _compared(estimate, work)


def _told(reading: Reading) -> Numbers:
    """Return what a completion says of tokens and drafts, from `completions` on."""
    generated, steps = reading.generated or 0, reading.target_steps
    prompt = cached = 0
    if not reading.shares_prompt:
        prompt, cached = reading.prompt or 0, reading.cached_prompt or 0
    drafted, accepted, rounds = reading.drafted, reading.accepted, reading.rounds
    steps, step_tokens = (0, 0) if steps is None else (steps, generated)
    if drafted is None or accepted is None:
        return (1, 0, 1, prompt, cached, generated, steps, step_tokens, 0, 0, 0, 0, 0)
    told = (1, 1 if drafted else 0, 0, prompt, cached, generated, steps, step_tokens)
    by_rounds = (0, 0, 0) if rounds is None else (1, rounds, accepted)
    return (*told, drafted, accepted, *by_rounds)


def _compared(estimate: Estimate, work: Work | None) -> Numbers:
    """Return what a comparison adds, from `compared` on."""
    sums, plain = estimate.sums, estimate.plain
    paired = (0, 0.0, 0.0) if work is None else (work.steps, work.seconds, plain)
    return (
        *(1, sums.spent, plain, sums.spent_squared, sums.plain_squared, sums.cross, sums.doubt),
        *paired,
        1 if estimate.stale else 0,
        *_BY_SOURCE[estimate.source],
    )
