"""What completions add up to; the numbers of disjoint sets add up."""

from __future__ import annotations

import msgspec

from specmeter.meter.completion import Completion
from specmeter.reading import MIN_DECODE_TOKENS
from specmeter.speedup.baseline import Source
from specmeter.speedup.estimate import Estimate
from specmeter.speedup.interval import Sums
from specmeter.speedup.work import work_of


class Counts(msgspec.Struct, frozen=True):
    """Sums over a set of completions; every numerator stands beside its own denominator."""

    completions: float = 0.0
    drafted_completions: float = 0.0
    not_reported: float = 0.0
    """Completions that say nothing of drafting."""
    generated: float = 0.0
    step_tokens: float = 0.0
    steps: float = 0.0
    """Runs of the target behind `step_tokens`."""
    drafted: float = 0.0
    accepted: float = 0.0
    rounds: float = 0.0
    round_accepted: float = 0.0
    """Accepted tokens of completions that report their rounds."""
    decode_tokens: float = 0.0
    decode_seconds: float = 0.0
    first_tokens: float = 0.0
    """Completions behind `first_token_seconds`."""
    first_token_seconds: float = 0.0
    compared: float = 0.0
    """Completions that have a baseline; the six sums below are theirs, see `Sums`."""
    spent: float = 0.0
    plain: float = 0.0
    spent_squared: float = 0.0
    plain_squared: float = 0.0
    cross: float = 0.0
    doubt: float = 0.0
    work_steps: float = 0.0
    """Runs of the target within `work_seconds`: without those for the prompt."""
    work_seconds: float = 0.0
    paired_steps: float = 0.0
    """The same of completions that have a baseline, and what it gives for them."""
    paired_seconds: float = 0.0
    paired_plain: float = 0.0
    holdout: float = 0.0
    """Compared completions by the source of their baseline."""
    shadow: float = 0.0
    measured: float = 0.0
    fixed: float = 0.0
    undrafted: float = 0.0
    stale: float = 0.0
    """Compared completions whose baseline is of another build or model."""

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
    def not_drafted(self) -> float:
        """Completions that report, and in which nothing was drafted."""
        return self.completions - self.drafted_completions - self.not_reported

    @property
    def sources(self) -> dict[Source, int]:
        """Compared completions by the source of their baseline, most first."""
        found = {source: int(getattr(self, source)) for source in Source}
        return {key: found[key] for key in sorted(found, key=lambda one: -found[one]) if found[key]}


def numbers_of(completion: Completion) -> dict[str, float]:
    """Return what one completion adds, by the names of `Counts`; what is unknown adds nothing."""
    reading, estimate = completion.reading, completion.estimate
    generated, drafted, accepted = reading.generated or 0, reading.drafted, reading.accepted
    found: dict[str, float] = {"completions": 1, "generated": generated}
    if drafted is None or accepted is None:
        found["not_reported"] = 1
    else:
        found["drafted_completions"] = 1 if drafted else 0
        found["drafted"] = drafted
        found["accepted"] = accepted
        if reading.rounds is not None:
            found["rounds"] = reading.rounds
            found["round_accepted"] = accepted
    if (steps := reading.target_steps) is not None:
        found["steps"] = steps
        found["step_tokens"] = generated
    if (first := completion.time_to_first_token) is not None:
        found["first_tokens"] = 1
        found["first_token_seconds"] = first
    seconds, tokens = reading.decode_seconds, reading.decoded
    if not seconds or not tokens or generated < MIN_DECODE_TOKENS:
        return found
    found["decode_seconds"] = seconds
    found["decode_tokens"] = tokens
    if estimate is not None:
        _add_estimate(found, estimate)
    if (work := work_of(reading, None)) is not None:
        found["work_steps"] = work.steps
        found["work_seconds"] = work.seconds
        if estimate is not None:
            found["paired_steps"] = work.steps
            found["paired_seconds"] = work.seconds
            found["paired_plain"] = estimate.plain
    return found


def _add_estimate(found: dict[str, float], estimate: Estimate) -> None:
    spent, plain = estimate.spent, estimate.plain
    found["compared"] = 1
    found["spent"] = spent
    found["plain"] = plain
    found["spent_squared"] = spent * spent
    found["plain_squared"] = plain * plain
    found["cross"] = spent * plain
    found["doubt"] = estimate.sums.doubt
    found[estimate.source] = 1
    if estimate.stale:
        found["stale"] = 1
