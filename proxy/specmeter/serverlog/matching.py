"""Pairs completions with what the server logged about them, so that nothing is counted twice.

Log lines carry no id that an answer has, so a pair is found by its numbers: generated tokens,
decode time, drafts, prompt tokens, as far as both sides have them.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from specmeter.meter.completion import Completion, Source
from specmeter.reading import Clock, Reading, Speculation

WAIT_SECONDS = 3.0
"""How long an answer waits for its lines, and lines for their answer."""

PRINTED_SECONDS = 5.1e-6
"""llama.cpp prints milliseconds with two decimals."""

COUNTED_TOKENS = 1
"""Ollama's MLX log gives steps and accepted tokens; their sum may differ from the answer's count
by the token that ended it."""


class Logged(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says of one request."""

    reading: Reading
    prompt_processed: int | None = None
    """Prompt tokens that were not found in the cache."""
    is_derived: bool = False
    """Whether the generated tokens are a sum of steps and accepted tokens."""


class LogMatcher:
    """Holds what has no counterpart yet. Times are seconds of any monotonic clock."""

    def __init__(self) -> None:
        self._held: list[tuple[float, Completion]] = []
        """Answers that say nothing of drafting, and wait for their lines."""
        self._counted: list[tuple[float, Completion]] = []
        """Answers that were counted; their lines have yet to come, and must not count again."""
        self._lines: list[tuple[float, Logged]] = []

    def answered(self, completion: Completion, now: float) -> Iterator[Completion]:
        """Take an answer; yield what can be counted."""
        logged = _take_line(self._lines, completion)
        if completion.reading.speculation is not Speculation.NOT_REPORTED:
            if logged is None:
                self._counted.append((now, completion))
            yield completion
        elif logged is None:
            self._held.append((now, completion))
        else:
            yield completed(completion, logged)

    def logged(self, logged: Logged, now: float) -> Iterator[Completion]:
        """Take what a log says of a request; yield what can be counted."""
        held = _take_answer(self._held, logged)
        if held is not None:
            yield completed(held, logged)
        elif _take_answer(self._counted, logged) is None:
            self._lines.append((now, logged))

    def expired(self, now: float) -> tuple[list[Completion], list[Logged]]:
        """Return the answers and the lines that have waited long enough to stand alone."""
        oldest = now - WAIT_SECONDS
        answers = [one for since, one in self._held if since <= oldest]
        lines = [one for since, one in self._lines if since <= oldest]
        self._held = [pair for pair in self._held if pair[0] > oldest]
        self._lines = [pair for pair in self._lines if pair[0] > oldest]
        self._counted = [pair for pair in self._counted if pair[0] > oldest]
        return answers, lines


def completed(completion: Completion, logged: Logged) -> Completion:
    """Return the completion with what the log adds to it."""
    own, log = completion.reading, logged.reading
    with_drafts = msgspec.structs.replace(
        own,
        drafted=log.drafted,
        accepted=log.accepted,
        rounds=log.rounds,
        accepted_per_position=log.accepted_per_position,
        inconsistencies=(*own.inconsistencies, *log.inconsistencies),
    )
    if log.decode_seconds is not None and own.clock is not Clock.SERVER:
        with_drafts = msgspec.structs.replace(
            with_drafts, decode_seconds=log.decode_seconds, clock=Clock.SERVER
        )
    return msgspec.structs.replace(completion, reading=with_drafts, source=Source.MATCHED)


def _take_line(lines: list[tuple[float, Logged]], completion: Completion) -> Logged | None:
    for index, (_, logged) in enumerate(lines):
        if fits(completion.reading, logged):
            del lines[index]
            return logged
    return None


def _take_answer(answers: list[tuple[float, Completion]], logged: Logged) -> Completion | None:
    for index, (_, completion) in enumerate(answers):
        if fits(completion.reading, logged):
            del answers[index]
            return completion
    return None


def fits(answer: Reading, logged: Logged) -> bool:
    """Whether an answer and a log speak of the same request, by all numbers that both have."""
    log = logged.reading
    if answer.generated is None or log.generated is None:
        return False
    slack = COUNTED_TOKENS if logged.is_derived else 0
    both_drafts = answer.drafted is not None and log.drafted is not None
    both_times = answer.clock is Clock.SERVER and answer.decode_seconds and log.decode_seconds
    both_prompts = answer.prompt is not None and logged.prompt_processed is not None
    processed = (answer.prompt or 0) - (answer.cached_prompt or 0)
    seconds_apart = abs((answer.decode_seconds or 0) - (log.decode_seconds or 0))
    return (
        abs(answer.generated - log.generated) <= slack
        and not (both_drafts and (answer.drafted, answer.accepted) != (log.drafted, log.accepted))
        and not (both_times and seconds_apart > PRINTED_SECONDS)
        and not (both_prompts and processed != logged.prompt_processed)
    )
