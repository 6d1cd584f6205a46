"""KoboldCpp: token counts, and its page about the last generation."""

from typing import Any

import pytest

from specmeter.backends.koboldcpp import KoboldCpp, read_perf
from specmeter.reading import Inconsistency, Reading, Speculation, check
from specmeter.unread import Unread
from tests.examples.example import USAGE
from tests.examples.local import EVALUATION, ollama_generate

PAGE = {
    "last_process": 2.9,
    "last_eval": 12.5,
    "last_token_count": 128,
    "last_input_count": 41,
    "last_process_time": 0.12,
    "last_eval_time": 1.6,
    "last_eval_speed": 80.0,
    "last_seed": 1,
    "last_draft_success": 64,
    "last_draft_failed": 128,
    "total_gens": 7,
    "stop_reason": 1,
    "queue": 0,
    "idle": 1,
    "uptime": 9000.0,
    "quiet": False,
}


def perf(**changed: Any) -> Reading:
    numbers = read_perf({**PAGE, **changed})
    assert numbers is not None
    return check(numbers)


def test_the_last_generation() -> None:
    """Drafted are the drafts that succeeded and those that failed."""
    one = perf()
    assert (one.generated, one.prompt) == (128, 41)
    assert (one.drafted, one.accepted, one.target_steps) == (192, 64, 64)
    assert one.decode_seconds == 1.6


def test_no_draft_at_all() -> None:
    """0 of 0 is nothing drafted, and no acceptance of 0."""
    one = perf(last_draft_success=0, last_draft_failed=0)
    assert one.speculation is Speculation.NOT_DRAFTED
    assert one.acceptance is None


def test_versions_without_drafts() -> None:
    """Without the fields nothing is known."""
    one = perf(last_draft_success=None, last_draft_failed=None)
    assert one.speculation is Speculation.NOT_REPORTED


@pytest.mark.parametrize("page", [{}, {"some": "other"}, {**PAGE, "total_gens": 0}])
def test_nothing_generated_yet(page: dict[str, Any]) -> None:
    """Zeros since the start are no generation."""
    assert read_perf(page) is None


@pytest.mark.parametrize("name", ["last_draft_success", "last_draft_failed"])
@pytest.mark.parametrize("value", ["x", -1, True, [], 1.5, None])
def test_damaged_drafts(name: str, value: Any) -> None:
    """They are named, and left out."""
    one = perf(**{name: value})
    reasons = {Inconsistency.WRONG_TYPE, Inconsistency.NEGATIVE, Inconsistency.HALF_REPORTED}
    assert set(one.inconsistencies) & reasons
    assert one.speculation is Speculation.NOT_REPORTED
    assert one.generated == 128


@pytest.mark.parametrize("value", ["x", True, [], -1.0])
def test_a_damaged_time(value: Any) -> None:
    """It is named, and is none."""
    one = perf(last_eval_time=value)
    assert len(one.inconsistencies) == 1
    assert one.decode_seconds is None


def test_an_answer_has_token_counts_only() -> None:
    """Its own API, OpenAI's and Ollama's alike."""
    result = {"text": "a", "prompt_tokens": 41, "completion_tokens": 129}
    imitated = ollama_generate("a", **{**EVALUATION, "eval_duration": 1})
    for body in ({"results": [result]}, {"usage": USAGE, "choices": [{}]}, imitated):
        (numbers,) = KoboldCpp().extract([body]).numbers
        one = check(numbers)
        assert (one.generated, one.prompt) == (129, 41)
        assert one.speculation is Speculation.NOT_REPORTED


@pytest.mark.parametrize("body", [{}, {"results": [{"text": "a"}]}, {"results": [5]}])
def test_no_numbers(body: dict[str, Any]) -> None:
    """Older versions count nothing."""
    assert KoboldCpp().extract([body]).unread is Unread.NO_NUMBERS
