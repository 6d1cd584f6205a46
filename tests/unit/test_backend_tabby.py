"""TabbyAPI: drafting in the usage, or in timings."""

from typing import Any

import pytest

from specmeter.backends.tabby import Tabby
from specmeter.reading import Inconsistency, Reading, Speculation, check
from specmeter.unread import Unread
from tests.answers import chat
from tests.examples.timings import TABBY_USAGE


def read(body: dict[str, Any]) -> Reading:
    (numbers,) = Tabby().extract([body]).numbers
    return check(numbers)


def drafts(**details: Any) -> Reading:
    return read(chat(usage={**TABBY_USAGE, "completion_tokens_details": details}))


def test_numbers_that_people_posted() -> None:
    """The timings' own fixture: 40 accepted and 8 rejected are 83.3 %."""
    timings = {
        "cache_n": 900,
        "prompt_n": 100,
        "prompt_ms": 60.0,
        "predicted_n": 50,
        "predicted_ms": 1200.0,
        "draft_n": 48,
        "draft_n_accepted": 40,
    }
    one = read(chat(usage=TABBY_USAGE, timings=timings))
    assert (one.generated, one.prompt, one.cached_prompt) == (50, 1000, 900)
    assert one.acceptance == pytest.approx(0.833, abs=5e-4)
    assert one.target_steps == 10
    assert one.decode_seconds == 1.2


def test_rejected_drafts_were_verified_too() -> None:
    """Drafted are the accepted and the rejected ones."""
    one = drafts(accepted_prediction_tokens=40, rejected_prediction_tokens=8)
    assert (one.drafted, one.accepted) == (48, 40)


def test_zeros_are_no_drafter() -> None:
    """It reports, and nothing was drafted."""
    one = drafts(accepted_prediction_tokens=0, rejected_prediction_tokens=0)
    assert one.speculation is Speculation.NOT_DRAFTED


@pytest.mark.parametrize("details", [None, "x", [], {}])
def test_older_versions_do_not_report(details: Any) -> None:
    """Without the fields nothing is known."""
    one = read(chat(usage={**TABBY_USAGE, "completion_tokens_details": details}))
    assert one.speculation is Speculation.NOT_REPORTED
    assert one.decode_seconds == 1.6


@pytest.mark.parametrize("name", ["accepted_prediction_tokens", "rejected_prediction_tokens"])
def test_half_the_drafts(name: str) -> None:
    """No rate from half the data."""
    one = drafts(**{name: 5})
    assert one.inconsistencies == (Inconsistency.HALF_REPORTED,)


@pytest.mark.parametrize("value", ["fast", True, [], -1.0])
def test_a_damaged_time(value: Any) -> None:
    """It is named, and is none."""
    one = read(chat(usage={**TABBY_USAGE, "completion_time": value}))
    assert len(one.inconsistencies) == 1
    assert one.decode_seconds is None


def test_several_outputs_are_one_sum() -> None:
    """The usage sums them up, and there are no timings then."""
    assert read(chat({}, {}, usage=TABBY_USAGE)).sequences == 2


def test_no_numbers() -> None:
    """Nothing is made up."""
    assert Tabby().extract([{"choices": []}]).unread is Unread.NO_NUMBERS
