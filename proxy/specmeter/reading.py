"""What one completion said about itself, and the numbers that follow from it.

Three numbers, three denominators, never substituted for one another:

==========================  =====================  ===============================================
acceptance                  accepted / drafted     how often is a guess right?
output per target step      generated / steps      what does one step of the target bring back?
mean acceptance length      1 + accepted / rounds  what does a step *that had a draft* bring back?
==========================  =====================  ===============================================

Nothing here knows a wire format, a socket or a metrics library.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

from specmeter.lazy import lazy

MIN_DECODE_TOKENS = 8
"""Shorter completions say more about the clock than about the decoding."""

MAX_TOKENS = 100_000_000
"""No completion has more tokens than this: a larger count is a fault of the server."""

_COUNTS = range(MAX_TOKENS + 1)

MAX_SECONDS = 7 * 24 * 3600.0
"""No completion decodes for longer than a week."""


class Speculation(StrEnum):
    """What a completion says about drafting."""

    DRAFTED = "drafted"
    NOT_DRAFTED = "not_drafted"
    """The server reports, and nothing was drafted: off, or on without a candidate."""
    NOT_REPORTED = "not_reported"


class Clock(StrEnum):
    """Who measured the decode time."""

    SERVER = "server"
    PROXY = "proxy"
    """First to last content as it passed the proxy."""


class Inconsistency(StrEnum):
    """Why a number a server sent cannot be true."""

    WRONG_TYPE = "wrong_type"
    NEGATIVE = "negative"
    NOT_FINITE = "not_finite"
    TOO_LARGE = "too_large"
    HALF_REPORTED = "half_reported"
    """Drafted without accepted, or the other way round: no rate from half the data."""
    ACCEPTED_EXCEEDS_DRAFTED = "accepted_exceeds_drafted"
    ACCEPTED_NOT_BELOW_GENERATED = "accepted_not_below_generated"
    """A stop in the middle of a round: accepted counts tokens that were never emitted."""
    POSITIONS_DISAGREE = "positions_disagree"
    """The accepted tokens per position do not add up to the accepted tokens."""
    ROUNDS_DISAGREE = "rounds_disagree"
    """Tokens were accepted in no round, or at one position in more rounds than there were."""
    STEPS_DISAGREE = "steps_disagree"
    """More steps than tokens, or tokens that neither a draft nor a step's own token explains."""


class RawNumbers(msgspec.Struct, frozen=True):
    """The numbers of one completion as a server sent them: any JSON value, `None` if absent.

    A server that reports, and drafted nothing, is 0 drafted and 0 accepted here.
    """

    generated: Any = None
    prompt: Any = None
    cached_prompt: Any = None
    drafted: Any = None
    accepted: Any = None
    rounds: Any = None
    accepted_per_position: Any = None
    steps: Any = None
    """Runs of the target, the prompt pass included, where the server counts them itself."""
    decode_milliseconds: Any = None
    sequences: int = 1
    """How many outputs `generated` sums up (a server that reports one number for n > 1)."""
    shares_prompt: bool = False
    """Whether the prompt is that of another completion of the same request."""


class Reading(msgspec.Struct, frozen=True, dict=True):
    """What one completion said: every number is possible, and `None` where it is unknown."""

    generated: int | None = None
    """Tokens, the first one included."""
    prompt: int | None = None
    """Tokens of the whole prompt, those found in the cache included."""
    cached_prompt: int | None = None
    drafted: int | None = None
    """Tokens handed to verification."""
    accepted: int | None = None
    """Drafted tokens that were right; the target's own token of each step is not one of them."""
    rounds: int | None = None
    """Target steps that had a draft to verify."""
    accepted_per_position: tuple[int, ...] | None = None
    """Item i: rounds in which the draft's token i (from 0) was accepted."""
    steps: int | None = None
    """Runs of the target as the server itself counts them, the prompt pass included."""
    decode_seconds: float | None = None
    """From the first generated token to the last."""
    clock: Clock | None = None
    """Whose `decode_seconds` they are."""
    sequences: int = 1
    shares_prompt: bool = False
    """Whether the prompt's tokens count with another completion of the same request."""
    inconsistencies: tuple[Inconsistency, ...] = ()

    @lazy
    def speculation(self) -> Speculation:
        """Which of the three states this completion is in."""
        if self.drafted is None:
            return Speculation.NOT_REPORTED
        return Speculation.DRAFTED if self.drafted else Speculation.NOT_DRAFTED

    @lazy
    def target_steps(self) -> int | None:
        """Runs of the target model, those without a draft included (>= 1).

        Each run yields one token of the target's own, so steps = generated - accepted. A stop
        in the middle of a round leaves accepted tokens that were never emitted; then the floor
        holds: the prompt pass, and one verification if anything was drafted. A server that
        counts them knows better.
        """
        if not self.generated:
            return None
        if self.steps is not None:
            return self.steps
        if self.accepted is None:
            return None
        floor = 2 if self.drafted and self.generated > 1 else 1
        return max(self.generated - self.accepted, floor)

    @property
    def acceptance(self) -> float | None:
        """Accepted per drafted token (0 to 1)."""
        if not self.drafted or self.accepted is None:
            return None
        return self.accepted / self.drafted

    @property
    def output_per_step(self) -> float | None:
        """Generated tokens per target step (>= 1)."""
        steps = self.target_steps
        if steps is None or self.generated is None:
            return None
        return self.generated / steps

    @property
    def mean_acceptance_length(self) -> float | None:
        """1 + accepted per round that had a draft (>= 1): the tools' "mean len"."""
        if not self.rounds or self.accepted is None:
            return None
        return 1 + self.accepted / self.rounds

    @property
    def decoded(self) -> int | None:
        """Tokens that `decode_seconds` covers: the first one comes from the prompt pass."""
        if self.generated is None or self.decode_seconds is None:
            return None
        decoded = self.generated - self.sequences
        return decoded if decoded > 0 else None

    @lazy
    def timed(self) -> tuple[int, float] | None:
        """Decoded tokens and the seconds they took; `None` where these say too little.

        They do where they are unknown, or where fewer than `MIN_DECODE_TOKENS` were generated.
        """
        generated, seconds = self.generated, self.decode_seconds
        if not seconds or generated is None or generated < MIN_DECODE_TOKENS:
            return None
        decoded = generated - self.sequences
        return (decoded, seconds) if decoded > 0 else None

    @property
    def seconds_per_token(self) -> float | None:
        """Decode seconds per decoded token (> 0)."""
        if self.decoded is None or not self.decode_seconds:
            return None
        return self.decode_seconds / self.decoded


def check(raw: RawNumbers) -> Reading:
    """Turn what a server sent into a `Reading`.

    A number that cannot be true is left out and its reason kept. Never raises.
    """
    faults: list[Inconsistency] = []
    generated, prompt, cached, rounds = _counts(
        (raw.generated, raw.prompt, raw.cached_prompt, raw.rounds), faults
    )
    seconds = _seconds(raw.decode_milliseconds, faults)
    drafted, accepted = _pair(raw, faults)
    positions = _positions(raw.accepted_per_position, faults)
    if accepted is None:
        rounds = positions = None
    if positions is not None and sum(positions) != accepted:
        faults.append(Inconsistency.POSITIONS_DISAGREE)
        positions = None
    if rounds is not None and max(positions or (min(accepted or 0, 1),)) > rounds:
        faults.append(Inconsistency.ROUNDS_DISAGREE)
        rounds = positions = None
    if accepted and generated is not None and accepted >= generated:
        faults.append(Inconsistency.ACCEPTED_NOT_BELOW_GENERATED)
    return Reading(
        generated=generated,
        prompt=prompt,
        cached_prompt=cached,
        drafted=drafted,
        accepted=accepted,
        rounds=rounds,
        accepted_per_position=positions,
        steps=_steps(raw.steps, generated, accepted, faults),
        decode_seconds=seconds,
        clock=Clock.SERVER if seconds is not None else None,
        sequences=raw.sequences,
        shares_prompt=raw.shares_prompt,
        inconsistencies=tuple(dict.fromkeys(faults)) if faults else (),
    )


def _pair(raw: RawNumbers, faults: list[Inconsistency]) -> tuple[int | None, int | None]:
    """Drafted and accepted tokens: both or neither."""
    if raw.drafted is None and raw.accepted is None:
        return None, None
    known = len(faults)
    drafted, accepted = _counts((raw.drafted, raw.accepted), faults)
    if drafted is None or accepted is None:
        if len(faults) == known:
            faults.append(Inconsistency.HALF_REPORTED)
        return None, None
    if accepted > drafted:
        faults.append(Inconsistency.ACCEPTED_EXCEEDS_DRAFTED)
        return None, None
    return drafted, accepted


def _steps(
    value: Any, generated: int | None, accepted: int | None, faults: list[Inconsistency]
) -> int | None:
    """Return the steps a server counted, if they can have brought the tokens that came."""
    if value is None:
        return None
    steps = _count(value, faults)
    if steps is None or generated is None:
        return None
    least = 1 if accepted is None else generated - accepted
    if not max(least, 1) <= steps <= generated:
        faults.append(Inconsistency.STEPS_DISAGREE)
        return None
    return steps


def _number(value: Any, most: float, faults: list[Inconsistency]) -> float | None:
    if value is None:
        return None
    if (type(value) is int or type(value) is float) and 0 <= value <= most:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        faults.append(Inconsistency.WRONG_TYPE)
    elif isinstance(value, float) and not math.isfinite(value):
        faults.append(Inconsistency.NOT_FINITE)
    elif value < 0:
        faults.append(Inconsistency.NEGATIVE)
    elif value > most:
        faults.append(Inconsistency.TOO_LARGE)
    else:
        return value
    return None


def _counts(values: Iterable[Any], faults: list[Inconsistency]) -> list[int | None]:
    return [
        value
        if value is None or (type(value) is int and value in _COUNTS)  # nearly always
        else _count(value, faults)
        for value in values
    ]


def _count(value: Any, faults: list[Inconsistency]) -> int | None:
    number = _number(value, MAX_TOKENS, faults)
    if number is None or type(number) is int:
        return number
    if number != int(number):
        faults.append(Inconsistency.WRONG_TYPE)
        return None
    return int(number)


def _seconds(milliseconds: Any, faults: list[Inconsistency]) -> float | None:
    number = _number(milliseconds, MAX_SECONDS * 1000, faults)
    return None if number is None else number / 1000


def _positions(value: Any, faults: list[Inconsistency]) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        faults.append(Inconsistency.WRONG_TYPE)
        return None
    counts = _counts(value, faults)
    known = tuple(count for count in counts if count is not None)
    return known if len(known) == len(counts) else None
