"""Answers and log lines find each other by their numbers, and nothing is counted twice."""

from typing import Any

import pytest

from specmeter.meter.completion import Completion, Source
from specmeter.reading import Clock, RawNumbers, Reading, check
from specmeter.serverlog.matching import WAIT_SECONDS, Logged, LogMatcher, fits


def reading(**raw: Any) -> Reading:
    return check(RawNumbers(**raw))


def answer(**raw: Any) -> Completion:
    return Completion(
        upstream="u",
        endpoint="/v1/messages",
        model_name="m",
        reading=reading(**raw),
        streamed=False,
        time_to_first_token=None,
        duration=1.0,
        finished_at=0.0,
    )


def line(*, processed: int | None = None, derived: bool = False, **raw: Any) -> Logged:
    return Logged(reading=reading(**raw), prompt_processed=processed, is_derived=derived)


DRAFTS: dict[str, Any] = {"drafted": 108, "accepted": 70}


def test_an_answer_without_drafts_is_completed_from_the_log() -> None:
    """/v1/messages has token counts; the log has the drafts and the time."""
    matcher = LogMatcher()
    assert list(matcher.answered(answer(generated=127, prompt=40), 0.0)) == []
    (one,) = matcher.logged(line(generated=127, decode_milliseconds=1270.0, **DRAFTS), 0.1)
    assert (one.reading.generated, one.reading.drafted, one.reading.accepted) == (127, 108, 70)
    assert (one.reading.decode_seconds, one.reading.clock) == (1.27, Clock.SERVER)
    assert (one.reading.prompt, one.source) == (40, Source.MATCHED)
    assert matcher.expired(99.0) == ([], [])


def test_the_log_may_come_first() -> None:
    """Which side is quicker does not matter."""
    matcher = LogMatcher()
    assert list(matcher.logged(line(generated=127, **DRAFTS), 0.0)) == []
    (one,) = matcher.answered(answer(generated=127), 0.1)
    assert one.reading.drafted == 108


@pytest.mark.parametrize("log_first", [True, False])
def test_the_lines_of_a_counted_answer_are_not_counted_again(log_first: bool) -> None:
    """An answer with numbers of its own is counted at once, and its lines are dropped."""
    matcher = LogMatcher()
    logged = line(generated=127, decode_milliseconds=1270.0, **DRAFTS)
    full = answer(generated=127, decode_milliseconds=1270.004, **DRAFTS)
    if log_first:
        assert list(matcher.logged(logged, 0.0)) == []
    assert list(matcher.answered(full, 0.1)) == [full]
    if not log_first:
        assert list(matcher.logged(logged, 0.2)) == []
    assert matcher.expired(99.0) == ([], [])


def test_two_alike_are_two() -> None:
    """Each line belongs to one answer."""
    matcher = LogMatcher()
    assert list(matcher.answered(answer(generated=9), 0.0)) == []
    assert list(matcher.answered(answer(generated=9), 0.0)) == []
    assert len(list(matcher.logged(line(generated=9, drafted=4, accepted=2), 0.1))) == 1
    assert len(list(matcher.logged(line(generated=9, drafted=4, accepted=3), 0.1))) == 1
    assert list(matcher.logged(line(generated=9, drafted=4, accepted=1), 0.1)) == []


def test_what_finds_no_counterpart_stands_alone() -> None:
    """After a while an answer counts as not reported, and lines count on their own."""
    matcher = LogMatcher()
    alone, lines = answer(generated=9), line(generated=30, **DRAFTS)
    assert list(matcher.answered(alone, 0.0)) == []
    assert list(matcher.logged(lines, 0.0)) == []
    assert matcher.expired(WAIT_SECONDS - 0.1) == ([], [])
    assert matcher.expired(WAIT_SECONDS) == ([alone], [lines])
    assert matcher.expired(WAIT_SECONDS) == ([], [])


@pytest.mark.parametrize(
    ("sent", "logged", "together"),
    [
        (reading(generated=9), line(generated=9), True),
        (reading(generated=9), line(generated=8), False),
        (reading(generated=9), line(generated=8, derived=True), True),
        (reading(generated=9), line(generated=7, derived=True), False),
        (reading(), line(generated=9), False),
        (reading(generated=9), line(), False),
        (reading(generated=99, **DRAFTS), line(generated=99, **DRAFTS), True),
        (reading(generated=99, **DRAFTS), line(generated=99, drafted=108, accepted=69), False),
        (reading(generated=9, prompt=40, cached_prompt=30), line(generated=9, processed=10), True),
        (reading(generated=9, prompt=40, cached_prompt=30), line(generated=9, processed=40), False),
        (
            reading(generated=9, decode_milliseconds=100.123),
            line(generated=9, decode_milliseconds=100.12),
            True,
        ),
        (
            reading(generated=9, decode_milliseconds=100.1),
            line(generated=9, decode_milliseconds=100.2),
            False,
        ),
    ],
)
def test_by_which_numbers_they_are_told(sent: Reading, logged: Logged, together: bool) -> None:
    """All numbers that both sides have must agree; printed ones as far as they are printed."""
    assert fits(sent, logged) is together
