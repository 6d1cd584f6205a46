"""What a step costs, and what follows for the length of drafts."""

import random
from typing import Any

import pytest

from specmeter.reading import RawNumbers, check
from specmeter.speedup.draft_length import draft_lengths
from specmeter.speedup.line_fit import Row, fit
from specmeter.speedup.step_cost import seconds_per_step, step_cost
from specmeter.speedup.work import Work, work_of


def works(noise: float = 0.0, count: int = 40, seed: int = 3) -> list[Work]:
    """Steps of 30 ms and 2 ms for each drafted token; plain decoding takes 20 ms a token."""
    draw = random.Random(seed)
    made = []
    for i in range(count):
        steps = draw.randint(20, 80)
        rounds = steps * (i % 4) // 4  # the drafter finds something in none to three of four steps
        drafted = 3 * rounds
        positions = (rounds * 8 // 10, rounds * 6 // 10, rounds * 4 // 10)
        tokens = steps + sum(positions)
        seconds = (0.030 * steps + 0.002 * drafted) * draw.lognormvariate(0, noise)
        made.append(
            Work(
                steps=steps,
                tokens=tokens,
                drafted=drafted,
                seconds=seconds,
                plain_seconds=0.020 * tokens,
                rounds=rounds,
                positions=positions if rounds else None,
            )
        )
    return made


def test_parts_of_a_step_are_found_exactly_without_noise() -> None:
    """30 ms a step and 2 ms a drafted token come back as such."""
    cost = step_cost(works())
    assert cost is not None
    assert cost.step_seconds.value == pytest.approx(0.030)
    assert cost.draft_seconds.value == pytest.approx(0.002)


def test_break_even_is_the_cost_of_a_step_in_plain_tokens() -> None:
    """(30 ms + 2 ms times drafted tokens a step) / 20 ms."""
    cost = step_cost(works())
    assert cost is not None
    assert cost.break_even is not None
    expected = (0.030 + 0.002 * cost.drafted_per_step) / 0.020
    assert cost.break_even.value == pytest.approx(expected)


def test_without_a_baseline_parts_are_in_seconds_and_there_is_no_break_even() -> None:
    """What a step costs is known, what it has to bring back is not."""
    unbased = [
        Work(steps=w.steps, tokens=w.tokens, drafted=w.drafted, seconds=w.seconds) for w in works()
    ]
    cost = step_cost(unbased)
    assert cost is not None
    assert cost.step_seconds.value == pytest.approx(0.030)
    assert cost.break_even is None
    assert draft_lengths(works(), cost, 0.0) == ()


def test_intervals_of_the_parts_hold_the_truth() -> None:
    """With 10 % of noise, 19 of 20 intervals cover 30 ms and 2 ms."""
    step = draft = 0
    for seed in range(200):
        cost = step_cost(works(noise=0.1, seed=seed))
        assert cost is not None
        step += cost.step_seconds.interval.low <= 0.030 <= cost.step_seconds.interval.high
        draft += cost.draft_seconds.interval.low <= 0.002 <= cost.draft_seconds.interval.high
    assert 180 <= step <= 199
    assert 180 <= draft <= 199


def test_a_stall_does_not_move_the_parts() -> None:
    """One completion that took ten times as long changes the cost of a step by less than 3 %."""
    some = works(noise=0.05)
    stalled = [
        *some[:-1],
        Work(
            **{
                **{f: getattr(some[-1], f) for f in some[-1].__struct_fields__},
                "seconds": 10 * some[-1].seconds,
            }
        ),
    ]
    usual, moved = step_cost(some), step_cost(stalled)
    assert usual is not None
    assert moved is not None
    assert moved.step_seconds.value == pytest.approx(usual.step_seconds.value, rel=0.03)


def test_parts_are_one_where_drafts_do_not_vary() -> None:
    """Three drafted tokens in each step: nobody can tell what a step without them takes."""
    same = [Work(steps=s, tokens=2 * s, drafted=3 * s, seconds=0.036 * s) for s in range(20, 60)]
    assert step_cost(same) is None


def test_too_few_completions() -> None:
    """Nineteen say too little."""
    assert step_cost(works(count=19)) is None
    assert step_cost(works(count=20)) is not None


def test_seconds_per_step() -> None:
    """All seconds over all steps; absent without any."""
    some = [Work(steps=10, tokens=20, drafted=30, seconds=0.5), Work(30, 40, 0, 0.9)]
    assert seconds_per_step(some) == pytest.approx(1.4 / 40)
    assert seconds_per_step([]) is None


def test_speedup_to_expect_at_each_length() -> None:
    """Every step has a draft, of which 80, 60 and 40 % are accepted at positions 0, 1 and 2.

    A step of a draft of one token brings back 1.8 tokens and takes 32 ms, which is 1.6 plain ones:
    1.125. Of two: 2.4 over 1.7. Of three: 2.8 over 1.8.
    """
    always = Work(100, 280, 300, 3.6, 0.020 * 280, rounds=100, positions=(80, 60, 40))
    cost = step_cost(works())
    assert cost is not None
    found = draft_lengths([always], cost, baseline_error=0.05)
    assert [one.length for one in found] == [1, 2, 3]
    assert [one.speedup for one in found] == pytest.approx([1.8 / 1.6, 2.4 / 1.7, 2.8 / 1.8])
    assert [one.now for one in found] == [False, False, True]
    half = 1.959964 * 0.05 * 1.8 / 1.6
    assert found[0].interval.high - found[0].speedup == pytest.approx(half, rel=1e-6)


def test_steps_without_a_draft_count() -> None:
    """In half of the steps nothing is drafted: 1.4 tokens for 31 ms, which is 1.55 plain ones."""
    some = [
        Work(100, 280, 300, 3.6, 5.6, rounds=100, positions=(80, 60, 40)),
        Work(100, 100, 0, 3.0, 2.0),
    ]
    cost = step_cost(works())
    assert cost is not None
    assert draft_lengths(some, cost, 0.0)[0].speedup == pytest.approx(1.4 / 1.55)


def test_lengths_are_absent_where_positions_are_not_reported() -> None:
    """Acceptance alone does not tell where in the draft it was lost."""
    cost = step_cost(works())
    assert cost is not None
    assert draft_lengths([Work(100, 280, 300, 3.6, 5.6)], cost, 0.0) == ()


def test_work_leaves_the_prompt_pass_out() -> None:
    """N 129, A 64: 65 steps, of which one is the prompt pass that gave the first token."""
    reading = check(
        RawNumbers(generated=129, drafted=192, accepted=64, rounds=64, decode_milliseconds=1600.0)
    )
    work = work_of(reading)
    assert work is not None
    assert (work.steps, work.tokens, work.drafted, work.seconds) == (64, 128, 192, 1.6)
    assert work.plain_seconds is None


@pytest.mark.parametrize(
    "raw",
    [
        {"generated": 129, "decode_milliseconds": 1600.0},
        {"generated": 129, "drafted": 192, "accepted": 64},
        {"generated": 7, "drafted": 9, "accepted": 3, "decode_milliseconds": 16.0},
        {"generated": 10, "drafted": 64, "accepted": 22, "decode_milliseconds": 16.0},
    ],
)
def test_work_that_cannot_be_told(raw: dict[str, Any]) -> None:
    """No drafting reported, no time, too short, or more accepted than generated."""
    assert work_of(check(RawNumbers(**raw))) is None


def test_a_line_through_equal_ratios_is_none() -> None:
    """The second is three times the first in every row."""
    assert fit([Row(1.0 * s, s, 3 * s) for s in (1, 2, 3, 4)]) is None


def test_a_line_of_negative_values_is_none() -> None:
    """Cost cannot be negative for any row."""
    rows = [Row(1.0, 1, 0), Row(1e-6, 1, 1), Row(1.0, 1, 0), Row(1e-6, 1, 3)]
    assert fit(rows) is None
