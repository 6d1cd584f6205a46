"""What one completion adds, under its names."""

import math
import random
from typing import Any

import msgspec
import pytest

from specmeter.speedup.baseline import Source
from specmeter.tally.counts import Counts
from specmeter.tally.growing import Growing
from tests.history.completions import made_up

ALL = {
    "completions": 1,
    "drafted_completions": 1,
    "prompt": 100,
    "cached_prompt": 60,
    "generated": 101,
    "steps": 76,
    "step_tokens": 101,
    "drafted": 50,
    "accepted": 25,
    "round_completions": 1,
    "rounds": 20,
    "round_accepted": 25,
    "first_tokens": 1,
    "first_token_seconds": 0.3,
    "decode_tokens": 100,
    "decode_seconds": 2.0,
    "work_steps": 75,
    "work_seconds": 2.0,
    "compared": 1,
    "spent": 2.0,
    "plain": 3.0,
    "spent_squared": 4.0,
    "plain_squared": 9.0,
    "cross": 6.0,
    "doubt": 0.06,
    "paired_steps": 75,
    "paired_seconds": 2.0,
    "paired_plain": 3.0,
}


def added(**raw: Any) -> dict[str, float]:
    counts = Counts(*made_up(**({"rounds": 20, "cached_prompt": 60} | raw)).numbers)
    return {name: value for name, value in msgspec.structs.asdict(counts).items() if value}


@pytest.mark.parametrize("source", Source)
def test_every_number_has_its_name(source: Source) -> None:
    """A completion that says everything adds its own number to each sum."""
    assert added(source=source) == pytest.approx(ALL | {source: 1})


def test_without_a_baseline_nothing_is_compared() -> None:
    """The rest is the same."""
    expected = dict(list(ALL.items())[: list(ALL).index("compared")])
    assert added(plain=None) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("raw", "gone"),
    [
        ({"decode_milliseconds": None}, {"decode_seconds", "decode_tokens", "work_steps", "plain"}),
        ({"rounds": None}, {"round_completions", "rounds", "round_accepted"}),
        ({"shares_prompt": True}, {"prompt", "cached_prompt"}),
        ({"drafted": None, "accepted": None}, {"drafted", "accepted", "steps", "work_steps"}),
    ],
)
def test_what_is_not_told_adds_nothing(raw: dict[str, Any], gone: set[str]) -> None:
    """Neither the number nor what follows from it."""
    assert not gone & set(added(**raw))
    assert added(**raw)["generated"] == 101


def test_sums_of_completions_that_say_more_and_less() -> None:
    """It does not matter in which order they come, nor whether some are compared."""
    compared, bare = made_up(), made_up(plain=None)
    sums = []
    for order in ((compared, bare, bare), (bare, compared, bare)):
        growing = Growing()
        for one in order:
            growing.add(one.numbers)
        sums.append(growing.counts)
    assert sums[0] == sums[1]
    assert (sums[0].completions, sums[0].compared) == (3, 1)
    assert math.isclose(sums[0].plain, 3.0)
    assert Growing().counts == Counts()


def test_a_sum_never_goes_down() -> None:
    """Not by a rounding either: to Prometheus a counter that does has been reset."""
    chance = random.Random(6)
    places = [Growing() for _ in range(3)]
    before = Counts()
    for _ in range(2000):
        seconds = chance.choice((0.0, chance.random(), chance.random() * 1e-9))
        chance.choice(places).add((1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, seconds))
        if chance.random() < 0.5:
            total = Growing()
            for place in places:
                total.include(place)
            assert total.counts.completions >= before.completions
            assert total.counts.first_token_seconds >= before.first_token_seconds
            before = total.counts
    assert before.completions > 1000
