"""mlx-vlm and mlxcel: timings with rounds, and nulls without a drafter."""

from typing import Any

import pytest

from specmeter.backends.mlx_vlm import MlxVlm
from specmeter.reading import Inconsistency, Reading, Speculation, check
from specmeter.unread import Unread

TIMINGS: dict[str, Any] = {"predicted_n": 111, "peak_memory": 3.2}
NULLS = dict.fromkeys(("draft_kind", "draft_rounds", "draft_n", "draft_n_accepted"))


def read(**timings: Any) -> Reading:
    (numbers,) = MlxVlm().extract([{"timings": {**TIMINGS, **timings}}]).numbers
    return check(numbers)


def drafted(rounds: int, drafted: int, accepted: int) -> dict[str, Any]:
    counts = {"draft_rounds": rounds, "draft_n": drafted, "draft_n_accepted": accepted}
    return {"draft_kind": "mtp", **counts}


def test_numbers_that_people_posted() -> None:
    """30 rounds, 81 of 90 accepted, 111 tokens: 90 % and 3.70 a step."""
    one = read(**drafted(30, 90, 81))
    assert one.acceptance == pytest.approx(0.9)
    assert one.output_per_step == pytest.approx(3.7)
    assert one.mean_acceptance_length == pytest.approx(3.7)
    assert one.rounds == 30


def test_a_reply_of_one_word() -> None:
    """Six accepted of two tokens: said, and two steps."""
    one = read(**{**drafted(1, 7, 6), "predicted_n": 2})
    assert one.inconsistencies == (Inconsistency.ACCEPTED_NOT_BELOW_GENERATED,)
    assert (one.target_steps, one.output_per_step) == (2, 1.0)


def test_null_is_a_server_without_a_drafter() -> None:
    """It reports, and there is nothing to report."""
    one = read(**NULLS)
    assert one.speculation is Speculation.NOT_DRAFTED
    assert one.rounds is None
    assert one.target_steps == 111
    assert one.inconsistencies == ()


def test_absent_is_a_version_that_does_not_report() -> None:
    """Before 0.6.10 there may have been a drafter all the same."""
    one = read()
    assert one.speculation is Speculation.NOT_REPORTED
    assert one.generated == 111


def test_a_speed_alone_is_no_reading() -> None:
    """A stream whose usage was not asked for has nothing else."""
    chunk = {"choices": [{"index": 0}], "timings": {"predicted_per_second": 80.0}}
    assert MlxVlm().extract([chunk, chunk]).unread is Unread.NO_NUMBERS


def test_rounds_without_any_draft_are_none() -> None:
    """Rounds alone say nothing of drafting."""
    one = read(draft_rounds=5, draft_n=None, draft_n_accepted=None)
    assert one.speculation is Speculation.NOT_DRAFTED


def test_half_the_numbers() -> None:
    """No rate from half the data."""
    one = read(**{**drafted(30, 90, 81), "draft_n_accepted": None})
    assert one.inconsistencies == (Inconsistency.HALF_REPORTED,)
