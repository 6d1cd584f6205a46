"""ik_llama.cpp: the drafts by depth."""

from typing import Any

import pytest

from specmeter.backends.ik_llama import IkLlama
from specmeter.reading import Inconsistency, Reading, Speculation, check
from tests.examples.timings import IK_TIMINGS


def read(**timings: Any) -> Reading:
    (numbers,) = IkLlama().extract([{"timings": {**IK_TIMINGS, **timings}}]).numbers
    return check(numbers)


def depth(at: Any, drafted: Any, accepted: Any) -> dict[str, Any]:
    return {"depth": at, "draft_n": drafted, "draft_n_accepted": accepted}


def test_depths_are_positions() -> None:
    """Depth i tells of position i - 1, and the first one how many rounds there were."""
    one = read()
    assert one.rounds == 64
    assert one.accepted_per_position == (40, 17, 7)
    assert one.mean_acceptance_length == 2.0
    assert one.inconsistencies == ()


def test_a_depth_that_is_left_out_accepted_nothing() -> None:
    """The server writes only depths that a draft reached."""
    depths = [depth(1, 64, 40), depth(3, 64, 24)]
    assert read(draft_by_depth=depths).accepted_per_position == (40, 0, 24)


def test_depths_in_any_order() -> None:
    """Their numbers tell, not their places."""
    depths = [depth(2, 30, 24), depth(1, 64, 40)]
    one = read(draft_by_depth=depths)
    assert (one.rounds, one.accepted_per_position) == (64, (40, 24))


@pytest.mark.parametrize("depths", [None, []])
def test_older_builds_have_no_depths(depths: Any) -> None:
    """Then there are no rounds and no positions, and nothing is wrong."""
    one = read(draft_by_depth=depths)
    assert (one.rounds, one.accepted_per_position) == (None, None)
    assert (one.drafted, one.accepted) == (192, 64)
    assert one.inconsistencies == ()


def test_nothing_drafted() -> None:
    """As with llama.cpp, all draft fields are left out then."""
    timings = {"predicted_n": 9, "n_past": 50, "prompt_per_token_ms": None}
    (numbers,) = IkLlama().extract([{"timings": timings}]).numbers
    assert check(numbers).speculation is Speculation.NOT_DRAFTED


@pytest.mark.parametrize(
    "depths",
    [
        "x",
        [5],
        [depth(0, 1, 1)],
        [depth(-1, 1, 1)],
        [depth(10**9, 1, 1)],
        [depth("1", 64, 40)],
        [depth(True, 64, 40)],
        [depth(1, 64, 40), depth(1, 64, 40)],
        [depth(1, 64, "40")],
        [{}],
    ],
)
def test_damaged_depths(depths: Any) -> None:
    """They are named and left out; the rest of the timings stands."""
    one = read(draft_by_depth=depths)
    assert one.inconsistencies == (Inconsistency.WRONG_TYPE,)
    assert one.accepted_per_position is None
    assert (one.drafted, one.accepted, one.target_steps) == (192, 64, 65)


def test_depths_that_do_not_add_up() -> None:
    """Positions that contradict the accepted tokens are left out."""
    one = read(draft_by_depth=[depth(1, 64, 40)])
    assert one.inconsistencies == (Inconsistency.POSITIONS_DISAGREE,)
    assert (one.rounds, one.accepted_per_position) == (64, None)
