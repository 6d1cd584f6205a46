"""LM Studio: drafts that were verified, and times from the first token on."""

from typing import Any

import pytest

from specmeter.backends.lm_studio import LmStudio
from specmeter.reading import Inconsistency, Reading, Speculation, check
from specmeter.unread import Unread
from tests.answers import chat
from tests.examples.example import USAGE
from tests.examples.local import CHAT_STATS, CLOCK, DRAFT_COUNTS


def read(body: dict[str, Any]) -> Reading:
    (numbers,) = LmStudio().extract([body]).numbers
    return check(numbers)


def drafts(**changed: Any) -> Reading:
    counts = {key: value for key, value in {**DRAFT_COUNTS, **changed}.items() if value != "none"}
    return read(chat(usage=USAGE, stats={**CLOCK, **counts}))


def test_ignored_drafts_were_not_verified() -> None:
    """They never reached the model: of 200 drafted tokens 192 were judged."""
    one = drafts()
    assert (one.drafted, one.accepted) == (192, 64)
    assert one.acceptance == pytest.approx(1 / 3)


def test_numbers_of_a_real_answer() -> None:
    """0.4.24 with a model's own draft heads: the counts stand beside the usage."""
    usage = {
        "prompt_tokens": 66,
        "completion_tokens": 300,
        "total_tokens": 366,
        "total_draft_tokens_count": 492,
        "accepted_draft_tokens_count": 176,
        "rejected_draft_tokens_count": 316,
    }
    stats = {
        "tokens_per_second": 17.92897117267284,
        "time_to_first_token": 1.162136,
        "generation_time": 17.839055000000002,
        "stop_reason": "maxPredictedTokensReached",
    }
    one = read(chat(usage=usage, stats=stats))
    assert (one.drafted, one.accepted, one.target_steps) == (492, 176, 124)
    assert one.seconds_per_token == pytest.approx(1 / 17.92897117267284)


@pytest.mark.parametrize(("ignored", "drafted"), [(8, 192), ("none", 200), (0, 200)])
def test_without_the_rejected_ones(ignored: Any, drafted: int) -> None:
    """The total less the ignored ones is the same number."""
    one = drafts(rejected_draft_tokens_count="none", ignored_draft_tokens_count=ignored)
    assert (one.drafted, one.accepted) == (drafted, 64)


def test_no_drafts_in_the_own_api_are_none() -> None:
    """It gives them only where something was drafted."""
    one = read(chat(usage=USAGE, stats=CLOCK))
    assert one.speculation is Speculation.NOT_DRAFTED
    assert one.decode_seconds == 1.6


@pytest.mark.parametrize("stats", [{}, {"tokens_per_second": 5.0}, None, "x", []])
def test_no_drafts_in_the_openai_api_are_unknown(stats: Any) -> None:
    """Older versions never gave them there."""
    one = read(chat(usage=USAGE, stats=stats))
    assert one.speculation is Speculation.NOT_REPORTED
    assert (one.generated, one.decode_seconds) == (129, None)


def test_the_chat_of_version_1() -> None:
    """It has token counts, and a speed that is not taken over."""
    one = read({"model_instance_id": "m", "output": [], "stats": CHAT_STATS})
    assert (one.generated, one.prompt, one.decode_seconds) == (129, 41, None)
    assert one.speculation is Speculation.NOT_REPORTED


@pytest.mark.parametrize("missing", ["generation_time", "time_to_first_token"])
def test_half_a_clock(missing: str) -> None:
    """From one of the two times no decode time follows."""
    stats = {**CLOCK, missing: None}
    assert read(chat(usage=USAGE, stats=stats)).decode_seconds is None


@pytest.mark.parametrize("name", ["generation_time", "time_to_first_token"])
@pytest.mark.parametrize("value", ["x", True, [], {}])
def test_a_mistyped_time(name: str, value: Any) -> None:
    """It is named."""
    one = read(chat(usage=USAGE, stats={**CLOCK, name: value}))
    assert one.inconsistencies == (Inconsistency.WRONG_TYPE,)
    assert one.decode_seconds is None


def test_a_first_token_after_the_end() -> None:
    """No time is negative."""
    one = read(chat(usage=USAGE, stats={**CLOCK, "time_to_first_token": 3.0}))
    assert one.inconsistencies == (Inconsistency.NEGATIVE,)
    assert one.decode_seconds is None


@pytest.mark.parametrize("name", ["accepted_draft_tokens_count", "rejected_draft_tokens_count"])
def test_half_the_drafts(name: str) -> None:
    """No rate from half the data."""
    counts = {name: 5}
    one = read(chat(usage=USAGE, stats=counts))
    assert one.inconsistencies == (Inconsistency.HALF_REPORTED,)


def test_no_numbers() -> None:
    """Nothing is made up."""
    assert LmStudio().extract([{"stats": {"stop_reason": "x"}}]).unread is Unread.NO_NUMBERS
