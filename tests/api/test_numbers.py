"""Numbers from sums: each ratio with its own numerator and denominator."""

import msgspec
import pytest

from specmeter.api.numbers import Fraction, numbers_from
from specmeter.speedup.baseline import Source
from specmeter.tally.counts import Counts


def test_the_three_numbers_of_one_set() -> None:
    """57 steps, 108 drafted, 70 accepted in 40 rounds: three numbers, three denominators."""
    counts = Counts(
        completions=2,
        drafted_completions=2,
        step_tokens=127,
        steps=57,
        drafted=108,
        accepted=70,
        rounds=40,
        round_accepted=70,
    )
    found = numbers_from(counts)
    assert found.acceptance == Fraction(0.648148, 70, 108)
    assert found.output_per_step == Fraction(2.22807, 127, 57)
    assert found.mean_acceptance_length == Fraction(2.75, 70, 40)


def test_what_is_unknown_is_left_out() -> None:
    """No denominator, no number, and no word of it in the JSON."""
    found = numbers_from(Counts(completions=1, not_reported=1, generated=50))
    assert msgspec.json.encode(found) == (
        b'{"completions":1,"drafted":0,"not_drafted":0,"not_reported":1,"generated":50}'
    )


def test_step_and_break_even_are_of_the_same_completions() -> None:
    """With a baseline for some, milliseconds per step are those of these alone."""
    counts = Counts(
        work_steps=100, work_seconds=10.0, paired_steps=40, paired_seconds=2.0, paired_plain=3.0
    )
    found = numbers_from(counts)
    assert (found.step_ms, found.break_even_ms) == (50.0, 75.0)
    without = numbers_from(Counts(work_steps=100, work_seconds=10.0))
    assert (without.step_ms, without.break_even_ms) == (100.0, None)


def test_speedup_names_its_baselines() -> None:
    """The source that most completions had comes first."""
    counts = Counts(
        compared=5,
        spent=5.0,
        plain=8.0,
        spent_squared=5.0,
        plain_squared=12.8,
        cross=8.0,
        fixed=1,
        holdout=4,
        stale=1,
    )
    speedup = numbers_from(counts).speedup
    assert speedup is not None
    assert speedup.value == pytest.approx(1.6)
    assert list(speedup.baselines.items()) == [(Source.HOLDOUT, 4), (Source.FIXED, 1)]
    assert speedup.stale == 1
    assert speedup.low == pytest.approx(1.6)
