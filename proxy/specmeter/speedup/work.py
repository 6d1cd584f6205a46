"""What the target did for one completion."""

from __future__ import annotations

import msgspec

from specmeter.reading import Inconsistency, Reading


class Work(msgspec.Struct, frozen=True):
    """Steps, drafts and time of one completion, the prompt pass and its token left out."""

    steps: int
    """Runs of the target (>= 1)."""
    tokens: int
    drafted: int
    seconds: float
    plain_seconds: float | None = None
    """What these tokens would have taken without speculation."""
    rounds: int | None = None
    """Steps that had a draft."""
    positions: tuple[int, ...] | None = None
    """Rounds in which the draft's token i was accepted."""


def work_of(reading: Reading) -> Work | None:
    """Return the work behind a reading; `None` if it does not say, or contradicts itself."""
    timed, steps = reading.timed, reading.target_steps
    if timed is None or steps is None or reading.drafted is None:
        return None
    if Inconsistency.ACCEPTED_NOT_BELOW_GENERATED in reading.inconsistencies:
        return None
    steps -= reading.sequences  # the prompt passes: not in the decode time
    if steps < 1:
        return None
    return Work(
        steps=steps,
        tokens=timed[0],
        drafted=reading.drafted,
        seconds=timed[1],
        rounds=reading.rounds,
        positions=reading.accepted_per_position,
    )
