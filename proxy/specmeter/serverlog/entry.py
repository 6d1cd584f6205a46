"""One record of a log: a request, or a window of time in which requests ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from specmeter.reading import (
    MAX_SECONDS,
    MAX_TOKENS,
    Clock,
    Inconsistency,
    RawNumbers,
    Reading,
    check,
)
from specmeter.serverlog.lines import Origin
from specmeter.serverlog.numbers import Printed, fits
from specmeter.serverlog.rounds import Rounds, accepted_per_position, recover

_MOST_MILLISECONDS = MAX_SECONDS * 1000
_STOPPED = Inconsistency.ACCEPTED_NOT_BELOW_GENERATED

RATIO_DISAGREES = "ratio_disagrees"
"""The printed ratio is not that of the printed counts: one of them was damaged."""

MEAN_LENGTH_DISAGREES = "mean_length_disagrees"
"""No number of rounds gives the printed mean acceptance length."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one record says; `None` where it does not.

    The three numbers keep their denominators: `acceptance` is of guesses, `output_per_step` of
    all target steps, `mean_acceptance_length` of rounds that had a draft.
    """

    server: str
    """The kind of server, such as `llama.cpp`."""
    is_window: bool = False
    """Whether it sums up a window of time instead of one request."""
    source: str | None = None
    """The container, unit, child or rank that wrote it."""
    time: str | None = None
    """As the log prints it."""
    slot: int | None = None
    task: int | None = None
    request: str | None = None
    """The request's name, where the log gives it one."""
    reading: Reading = Reading()
    prompt_processed: int | None = None
    """Prompt tokens that were not found in the cache."""
    steps: int | None = None
    """Runs of the target model, those without a draft included."""
    rounds: Rounds | None = None
    """Target steps that had a draft, as far as the log tells."""
    emitted: int | None = None
    """Tokens of the rounds, where the log counts them itself."""
    printed_acceptance: float | None = None
    """The log's own ratio, where it gives no counts."""
    printed_mean_length: float | None = None
    rates: tuple[float, ...] | None = None
    """For each position, the share of rounds in which it was accepted, as printed."""
    faults: tuple[str, ...] = ()
    """Why numbers are left out, or do not fit together."""

    @property
    def acceptance(self) -> float | None:
        """Accepted per drafted token (0 to 1)."""
        known = self.reading.acceptance
        return self.printed_acceptance if known is None else known

    @property
    def average_draft(self) -> float | None:
        """Drafted tokens per target step, those without a draft included."""
        drafted = self.reading.drafted
        return None if drafted is None or not self.steps else drafted / self.steps

    @property
    def output_per_step(self) -> float | None:
        """Generated tokens per target step, those without a draft included (>= 1)."""
        generated = self.reading.generated
        return None if not generated or not self.steps else generated / self.steps

    @property
    def mean_acceptance_length(self) -> float | None:
        """Tokens per round that had a draft: counted if the rounds are certain, else as printed."""
        rounds = self.rounds.exact if self.rounds else None
        if rounds and self.emitted is not None:
            return self.emitted / rounds
        if rounds and self.reading.accepted is not None and self.printed_mean_length is not None:
            return 1 + self.reading.accepted / rounds
        return self.printed_mean_length or self.reading.mean_acceptance_length

    @property
    def tokens_per_second(self) -> float | None:
        """Decoded tokens, all but the first, per decode second."""
        seconds = self.reading.seconds_per_token
        return None if seconds is None else 1 / seconds


class Found(msgspec.Struct, kw_only=True, gc=False):
    """The numbers of one record before any check: a number, a text that is none, or `None`."""

    server: str
    origin: Origin
    is_window: bool = False
    slot: int | None = None
    task: int | None = None
    request: str | None = None
    generated: Any = None
    prompt_processed: Any = None
    drafted: Any = None
    accepted: Any = None
    decode_milliseconds: Any = None
    steps: int | None = None
    """Where the log counts them itself."""
    rounds: int | None = None
    """Where the log counts them itself."""
    counts: Sequence[int] | None = None
    """Accepted tokens per position, where the log counts them itself."""
    longest: int | None = None
    """The most tokens a round drafts, where it is known."""
    ratio: Printed | None = None
    mean: Printed | None = None
    rates: tuple[Printed, ...] | None = None

    def entry(self) -> Entry:
        """Check the numbers against each other, and make the record."""
        faults: list[str] = []
        drafted, accepted = self.drafted, self.accepted
        rounds = None if self.rounds is None else Rounds(self.rounds, self.rounds)
        counts = self.counts
        if (
            type(drafted) is int
            and type(accepted) is int
            and 0 <= accepted <= drafted <= MAX_TOKENS
        ):
            if drafted and self.ratio is not None and not fits(self.ratio, accepted, drafted):
                faults.append(RATIO_DISAGREES)
                drafted = accepted = None
            elif drafted and rounds is None:
                rounds = recover(drafted, accepted, self.mean, self.rates, self.longest)
                if rounds is None and (self.mean or self.rates):
                    faults.append(MEAN_LENGTH_DISAGREES)
                elif rounds and rounds.exact and self.rates:
                    counts = accepted_per_position(rounds.exact, accepted, self.rates)
        exact = rounds.exact if rounds else None
        reading = _read(self, drafted, accepted, exact, counts)
        if reading.inconsistencies:
            faults += reading.inconsistencies
            if Inconsistency.ROUNDS_DISAGREE in reading.inconsistencies:
                rounds = None
        steps = reading.target_steps if self.steps is None else self.steps
        if steps is not None and rounds and _STOPPED in reading.inconsistencies:
            # The prompt pass and the rounds; each yields a token at least.
            steps = min(max(steps, rounds.low + 1), reading.generated or steps)
        is_ratio_only = self.drafted is None and self.accepted is None
        return Entry(
            server=self.server,
            is_window=self.is_window,
            source=self.origin.source,
            time=self.origin.time,
            slot=self.slot,
            task=self.task,
            request=self.request,
            reading=reading,
            prompt_processed=_count(self.prompt_processed),
            steps=steps,
            rounds=rounds if reading.drafted else None,
            printed_acceptance=self.ratio.value if self.ratio and is_ratio_only else None,
            printed_mean_length=self.mean.value if self.mean else None,
            rates=tuple(rate.value for rate in self.rates) if self.rates else None,
            faults=tuple(faults),
        )


def _read(
    found: Found, drafted: Any, accepted: Any, rounds: int | None, counts: Sequence[int] | None
) -> Reading:
    """Check the numbers; those of nearly every request are fit to be taken as they are."""
    generated, milliseconds = found.generated, found.decode_milliseconds
    if (
        type(generated) is type(drafted) is type(accepted) is int
        and type(milliseconds) is float
        and 0 <= accepted <= drafted <= MAX_TOKENS
        and accepted < generated <= MAX_TOKENS
        and 0 <= milliseconds <= _MOST_MILLISECONDS
        and (rounds is None or not accepted or rounds > 0)
        and counts is None
    ):
        return Reading(
            generated=generated,
            drafted=drafted,
            accepted=accepted,
            rounds=rounds,
            decode_seconds=milliseconds / 1000,
            clock=Clock.SERVER,
        )
    return check(
        RawNumbers(
            generated=generated,
            drafted=drafted,
            accepted=accepted,
            rounds=rounds,
            accepted_per_position=counts,
            decode_milliseconds=milliseconds,
        )
    )


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None
