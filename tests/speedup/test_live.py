"""Baselines that are learned from live samples."""

import random

import pytest

from specmeter.speedup.baseline import PlainSpeed, Sample, Source
from specmeter.speedup.live import LiveBaseline
from specmeter.speedup.load_cost import USUAL_COST
from specmeter.speedup.strata import ANY, Conditions, Stratum

SHORT = Conditions.of(300, 1)
LONG = Conditions.of(5000, 1)


def learn(
    baseline: LiveBaseline,
    per_token: float,
    count: int,
    *,
    conditions: Conditions = SHORT,
    start: float = 0.0,
    every: float = 60.0,
    tokens: int = 100,
) -> float:
    """Give it so many samples, a minute apart; return the time of the last."""
    for i in range(count):
        at = start + i * every
        baseline.learn(Sample(conditions.stratum, per_token * tokens, tokens, at))
    return at


def ask(baseline: LiveBaseline, at: float, conditions: Conditions = SHORT) -> PlainSpeed:
    found = baseline.plain_speed(conditions, 100, at)
    assert found is not None
    return found


def test_five_samples_are_needed() -> None:
    """Four say nothing, five do; equal ones are off by no more than usual noise of nine."""
    baseline = LiveBaseline(Source.HOLDOUT)
    learn(baseline, 0.02, 4)
    assert baseline.plain_speed(SHORT, 100, 240) is None
    assert baseline.strata(240) == []
    at = learn(baseline, 0.02, 1, start=240)
    found = ask(baseline, at)
    assert found.seconds_per_token == pytest.approx(0.02)
    assert found.source is Source.HOLDOUT
    assert found.stratum == SHORT.stratum
    # √(4·0.2² / (4 + about 4)) over √5, and a lag of two minutes
    assert found.relative_error == pytest.approx(0.1414 / 5**0.5, rel=0.03)


def test_ratio_of_means() -> None:
    """90 tokens at 0.1 s and 10 at 0.5 s, over and over, are 0.14 s a token, not 0.3."""
    baseline = LiveBaseline(Source.HOLDOUT)
    for i in range(200):
        seconds, tokens = ((9.0, 90), (5.0, 10))[i % 2]
        baseline.learn(Sample(SHORT.stratum, seconds, tokens, 60.0 * i))
    assert ask(baseline, 12000).seconds_per_token == pytest.approx(0.14, rel=0.01)


def test_strata_are_told_apart() -> None:
    """Long contexts are three times as slow, and both are known."""
    baseline = LiveBaseline(Source.HOLDOUT)
    for i in range(40):
        learn(baseline, 0.02, 1, start=120.0 * i)
        at = learn(baseline, 0.06, 1, conditions=LONG, start=120.0 * i + 60)
    assert ask(baseline, at).seconds_per_token == pytest.approx(0.02)
    assert ask(baseline, at, LONG).seconds_per_token == pytest.approx(0.06)
    known = {one.stratum: one.seconds_per_token for one in baseline.strata(at)}
    assert known == pytest.approx({SHORT.stratum: 0.02, LONG.stratum: 0.06})


def test_a_coarser_stratum_stands_in_for_one_without_samples() -> None:
    """Another load of a known context takes that context, corrected by what load usually costs."""
    baseline = LiveBaseline(Source.HOLDOUT)
    at = learn(baseline, 0.02, 40)
    found = ask(baseline, at, Conditions.of(300, 8))
    assert found.seconds_per_token == pytest.approx(0.02 * USUAL_COST.factor(3))
    assert found.stratum == Stratum("0-512", ANY)
    assert found.relative_error > 3 * USUAL_COST.error
    everything = ask(baseline, at, Conditions.of(100_000, 8))
    assert everything.stratum == Stratum(ANY, ANY)


def test_a_load_without_samples_is_doubted_by_all_that_it_is_asked_for() -> None:
    """Half the traffic is of twice the load, and errors by load do not cancel out."""
    baseline = LiveBaseline(Source.HOLDOUT)
    for i in range(400):
        at = learn(baseline, 0.02, 1, start=60.0 * i, conditions=(SHORT, LONG)[i % 2])
    for _ in range(300):
        for conditions in (SHORT, LONG, Conditions.of(300, 2), Conditions.of(5000, 2)):
            found = ask(baseline, at, conditions)
    half = (USUAL_COST.factor(1) / (1 + USUAL_COST.factor(1))) * USUAL_COST.error
    assert found.relative_error == pytest.approx(half, rel=0.15)


def test_contexts_that_differ_make_a_poor_stand_in() -> None:
    """Of strata at 0.02 and 0.06 s a token, a third one may be as far off as those are."""
    baseline = LiveBaseline(Source.HOLDOUT)
    for i in range(40):
        learn(baseline, 0.02, 1, start=120.0 * i)
        at = learn(baseline, 0.06, 1, conditions=LONG, start=120.0 * i + 60)
    (error,) = {
        baseline.plain_speed(Conditions.of(100_000, 1), 10**9, at).relative_error  # type: ignore[union-attr]
    }
    assert error == pytest.approx(0.5, abs=0.03)


def test_one_sample_of_a_stratum_beats_a_coarse_stand_in_that_is_further_off() -> None:
    """Strata differ by half; a single sample is off by its noise, which is less."""
    baseline = LiveBaseline(Source.HOLDOUT)
    for i in range(40):
        learn(baseline, 0.02, 1, start=120.0 * i)
        learn(baseline, 0.06, 1, conditions=LONG, start=120.0 * i + 60)
    deep = Conditions.of(50_000, 1)
    learn(baseline, 0.11, 1, conditions=deep, start=4800)
    for i in range(16):  # shapes are worked out again after a few more
        at = learn(baseline, 0.02, 1, start=4860.0 + 60 * i)
    assert ask(baseline, at, deep).seconds_per_token == pytest.approx(0.11)


def test_it_follows_a_machine_that_slows_down() -> None:
    """After an hour of 40 samples at twice the time, 1/e of the old pace is left at most."""
    baseline = LiveBaseline(Source.HOLDOUT)
    at = learn(baseline, 0.02, 200, every=90)
    at = learn(baseline, 0.04, 41, start=at + 90, every=90)
    found = ask(baseline, at).seconds_per_token
    assert 0.04 - 0.02 / 2.7 < found < 0.04


def test_what_all_strata_have_in_common_is_learned_from_all() -> None:
    """Only short contexts come while the machine slows down by half; long ones do so as well."""
    baseline = LiveBaseline(Source.HOLDOUT)
    for i in range(500):
        learn(baseline, 0.02, 1, start=120.0 * i)
        at = learn(baseline, 0.06, 1, conditions=LONG, start=120.0 * i + 60)
    at = learn(baseline, 0.03, 300, start=at)
    assert ask(baseline, at, LONG).seconds_per_token == pytest.approx(0.09, rel=0.1)


def test_it_widens_while_nothing_new_comes() -> None:
    """After ten hours without a sample, 10 % are added in quadrature."""
    baseline = LiveBaseline(Source.HOLDOUT)
    at = learn(baseline, 0.02, 40)
    fresh, old = ask(baseline, at).relative_error, ask(baseline, at + 36000).relative_error
    assert old == pytest.approx((fresh**2 + 0.1**2) ** 0.5, rel=0.02)


def test_one_stalled_sample_hardly_moves_it() -> None:
    """Fifteen times as long as usual: less than 10 % more, where the plain mean would be 36 %."""
    baseline = LiveBaseline(Source.HOLDOUT)
    at = learn(baseline, 0.02, 38)
    usual = ask(baseline, at)
    at = learn(baseline, 0.30, 1, start=at + 60)
    found = ask(baseline, at)
    assert usual.seconds_per_token < found.seconds_per_token < 1.2 * usual.seconds_per_token
    assert found.relative_error > usual.relative_error


def test_a_stall_among_the_first_samples_hardly_moves_it() -> None:
    """Of five samples one took fifty times as long; the sixty after it make up for that."""
    baseline = LiveBaseline(Source.HOLDOUT)
    learn(baseline, 1.0, 1)
    at = learn(baseline, 0.02, 64, start=60)
    assert ask(baseline, at).seconds_per_token == pytest.approx(0.02, rel=0.2)


def test_rare_stalls_are_part_of_the_mean_in_the_long_run() -> None:
    """One completion in fifty takes ten times as long: 18 % more seconds, and no less is learned.

    The completions that it is compared with have such stalls too: without them, the baseline
    would make speculation look slower than it is.
    """
    draw = random.Random(8)
    baseline = LiveBaseline(Source.HOLDOUT)
    found = []
    for i in range(6000):
        stall = 10 if draw.random() < 0.02 else 1
        baseline.learn(
            Sample(SHORT.stratum, 2.0 * stall * draw.lognormvariate(0, 0.1), 100, i * 9.0)
        )
        if i > 2000:
            found.append(ask(baseline, i * 9.0).seconds_per_token)
    truth = 0.02 * 1.18 * 1.005
    assert sum(found) / len(found) == pytest.approx(truth, rel=0.04)


def test_clipping_does_not_bias_usual_noise() -> None:
    """With log-normal noise of 0.3 the mean is right to 1 %."""
    draw = random.Random(9)
    baseline = LiveBaseline(Source.HOLDOUT)
    found = []
    for i in range(4000):
        baseline.learn(Sample(SHORT.stratum, 2.0 * draw.lognormvariate(-0.045, 0.3), 100, i * 9.0))
        if i > 1000:
            found.append(ask(baseline, i * 9.0).seconds_per_token)
    assert sum(found) / len(found) == pytest.approx(0.02, rel=0.01)


def test_a_long_completion_does_not_take_over() -> None:
    """One of 100 times as many tokens, half as fast, weighs no more than two usual ones."""
    baseline = LiveBaseline(Source.HOLDOUT)
    at = learn(baseline, 0.02, 38)
    at = learn(baseline, 0.04, 1, start=at + 60, tokens=10_000)
    # 38 samples at 0.02, and one at 0.04 that weighs as much as two of the mean, itself included
    assert ask(baseline, at).seconds_per_token < 0.02 * 1.3


def test_error_grows_with_noise_and_shrinks_with_samples() -> None:
    """Twice the noise is twice the error; four times the samples of one hour are half of it."""

    def error(noise: float, every: float) -> float:
        draw = random.Random(5)
        baseline = LiveBaseline(Source.HOLDOUT)
        for i in range(400):
            seconds = 2.0 * draw.lognormvariate(0, noise)
            baseline.learn(Sample(SHORT.stratum, seconds, 100, i * every))
        return ask(baseline, 0).relative_error  # long ago: without drift

    assert error(0.2, 60) == pytest.approx(2 * error(0.1, 60), rel=0.1)
    assert error(0.2, 240) == pytest.approx(2 * error(0.2, 60), rel=0.1)


def test_it_goes_on_after_a_restart_as_if_nothing_had_happened() -> None:
    """What was learned is all that there is to know."""
    one = LiveBaseline(Source.SHADOW)
    at = learn(one, 0.02, 40)
    other = LiveBaseline(Source.SHADOW, one.learned)
    for baseline in (one, other):
        (known,) = baseline.strata(at)
        assert known.seconds_per_token == pytest.approx(0.02)
        assert known.relative_error == pytest.approx(0.0145, rel=0.05)
    learn(other, 0.03, 5, start=at)
    assert ask(other, at + 240).seconds_per_token > 0.0201


def test_samples_of_very_different_lengths_are_no_fault() -> None:
    """A very long one may outweigh those before, so that there are too few again: then it waits."""
    answers = []
    for seed in range(60):
        draw = random.Random(seed)
        baseline = LiveBaseline(Source.HOLDOUT)
        for i in range(60):
            conditions = draw.choice((SHORT, LONG))
            tokens = int(10 * 10 ** (3.3 * draw.random()))
            baseline.learn(Sample(conditions.stratum, 0.02 * tokens, tokens, 60.0 * i))
            found = baseline.plain_speed(draw.choice((SHORT, LONG)), 100, 60.0 * i)
            answers.append(None if found is None else found.seconds_per_token)
    assert None in answers
    assert {round(one, 9) for one in answers if one is not None} == {0.02}
