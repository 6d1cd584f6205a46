"""What the target did for one completion."""

from __future__ import annotations

import msgspec

from specmeter.reading import MIN_DECODE_TOKENS, Inconsistency, Reading


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


def work_of(reading: Reading, plain_seconds: float | None) -> Work | None:
    """Return the work behind a reading; `None` if it does not say, or contradicts itself."""
    seconds, tokens, steps = reading.decode_seconds, reading.decoded, reading.target_steps
    if not seconds or not tokens or steps is None or reading.drafted is None:
        return None
    if (reading.generated or 0) < MIN_DECODE_TOKENS:
        return None
    if Inconsistency.ACCEPTED_NOT_BELOW_GENERATED in reading.inconsistencies:
        return None
    steps -= reading.sequences  # the prompt passes: not in the decode time
    if steps < 1:
        return None
    return Work(
        steps=steps,
        tokens=tokens,
        drafted=reading.drafted,
        seconds=seconds,
        plain_seconds=plain_seconds,
        rounds=reading.rounds,
        positions=reading.accepted_per_position,
    )
