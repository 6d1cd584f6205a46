"""Sums become a speedup, its interval and a verdict."""

import math
import random
import re
from functools import reduce
from operator import add

import pytest

from specmeter.speedup import interval
from specmeter.speedup.interval import (
    Interval,
    Speedup,
    Sums,
    Verdict,
    speedup,
    t_quantile,
    verdict,
)

PLAIN = (3.0, 3.2, 2.8, 3.0, 3.0)


def total(spent: float, plain: tuple[float, ...], relative_error: float = 0.0) -> Sums:
    """Add up completions that took equally long."""
    return reduce(add, (Sums.of(spent, one, relative_error) for one in plain))


def test_speedup_of_five_equal_completions() -> None:
    """Residuals 0, 0.2, -0.2, 0, 0 over 10 s: √(0.08)/10, times t(4), times 5/3."""
    found = speedup(total(2.0, PLAIN))
    assert found is not None
    assert found.ratio == pytest.approx(1.5)
    assert found.interval is not None
    half = 0.0282843 * 2.769373 * 5 / 3
    assert found.interval.low == pytest.approx(1.5 - half, rel=1e-5)
    assert found.interval.high == pytest.approx(1.5 + half, rel=1e-5)


def test_baseline_error_is_added_in_quadrature() -> None:
    """A baseline that may be 19.6 % too high or low: the truth may be R/1.196 or R/0.804."""
    found = speedup(total(2.0, PLAIN, 0.1))
    assert found is not None
    assert found.interval is not None
    below, above = 1.5 - 1.5 / 1.1959964, 1.5 / 0.8040036 - 1.5
    assert 1.5 - found.interval.low == pytest.approx((0.130550**2 + below**2) ** 0.5, rel=1e-5)
    assert found.interval.high - 1.5 == pytest.approx((0.130550**2 + above**2) ** 0.5, rel=1e-5)


def test_a_baseline_that_says_nothing_leaves_a_wide_interval() -> None:
    """An error of 100 % does not divide by zero or less."""
    found = speedup(total(2.0, PLAIN, 1.0))
    assert found is not None
    assert found.interval is not None
    assert found.interval.low < 0.8
    assert found.interval.high > 15


def test_one_long_completion_counts_for_few() -> None:
    """Spent 9, 1, 1, 1: (12)²/84 is worth less than two equal ones, so there is no interval."""
    sums = reduce(add, [Sums.of(9, 10), *[Sums.of(1, 2)] * 3])
    assert sums.count == 4
    assert sums.effective == pytest.approx(144 / 84)
    assert speedup(sums) == Speedup(16 / 12, None)
    assert verdict(sums) is Verdict.CANNOT_TELL


def test_low_end_is_not_negative() -> None:
    """However wide the interval is, time does not run backwards."""
    found = speedup(total(1.0, (0.1, 0.1, 9.0, 0.1, 0.1)))
    assert found is not None
    assert found.interval is not None
    assert found.interval.low == 0


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (1.5, Verdict.FASTER),
        (1.005, Verdict.CANNOT_TELL),
        (0.995, Verdict.CANNOT_TELL),
        (0.7, Verdict.SLOWER),
    ],
)
def test_verdict_says_whether_one_lies_outside(ratio: float, expected: Verdict) -> None:
    """Ten completions with 1 % of noise tell 1.5 and 0.7 from 1.0, but not 1.005."""
    plain = tuple(ratio * (1 + 0.01 * (-1) ** i) for i in range(10))
    assert verdict(total(1.0, plain)) is expected


def test_no_baseline() -> None:
    """Without plain seconds there is no speedup at all."""
    assert speedup(Sums()) is None
    assert verdict(Sums(count=3, spent=2.0, spent_squared=2.0)) is Verdict.NO_BASELINE


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (Interval(1.0, 1.2), Verdict.CANNOT_TELL),
        (Interval(0.8, 1.0), Verdict.CANNOT_TELL),
        (None, Verdict.CANNOT_TELL),
    ],
)
def test_an_interval_that_touches_one_contains_it(
    interval: Interval | None, expected: Verdict
) -> None:
    """The ends belong to the interval."""
    assert Speedup(1.1, interval).verdict is expected


def test_equal_ratios_leave_no_sampling_error() -> None:
    """Rounding never makes the variance negative."""
    sums = reduce(add, (Sums.of(0.1 * i, 0.11 * i) for i in range(1, 40)))
    found = speedup(sums)
    assert found is not None
    assert found.interval is not None
    assert found.interval.low == pytest.approx(1.1, abs=1e-6)
    assert found.interval.high == pytest.approx(1.1, abs=1e-6)


def test_three_replicas_add_up_to_one() -> None:
    """Sums of three proxies give the interval of one proxy that saw everything."""
    draw = random.Random(4)
    seen = [
        Sums.of(draw.uniform(1, 9), draw.uniform(1, 9), draw.uniform(0, 0.1)) for _ in range(120)
    ]
    one = speedup(reduce(add, seen))
    three = speedup(reduce(add, (reduce(add, seen[i::3]) for i in range(3))))
    assert one is not None
    assert three is not None
    assert one.interval is not None
    assert three.interval is not None
    assert three.ratio == pytest.approx(one.ratio, rel=1e-12)
    assert three.interval.low == pytest.approx(one.interval.low, rel=1e-9)
    assert three.interval.high == pytest.approx(one.interval.high, rel=1e-9)


@pytest.mark.parametrize(
    ("freedom", "exact", "tolerance"),
    [(3, 3.18245, 0.01), (5, 2.57058, 0.002), (10, 2.22814, 3e-4), (60, 2.00030, 1e-4)],
)
def test_t_quantile(freedom: float, exact: float, tolerance: float) -> None:
    """The expansion agrees with tables of the t distribution."""
    assert t_quantile(freedom) == pytest.approx(exact, rel=tolerance)


RULES = ("R", "n", "V", "t", "s2", "b", "low", "high")
FUNCTIONS = {"sqrt": math.sqrt, "clamp_min": max, "clamp_max": min}


def promql_rules() -> list[tuple[str, str]]:
    """Return names and expressions of the recording rules, as the docstring has them."""
    text = str(interval.__doc__).partition("recording rules")[2]
    return re.findall(rf"^    ({'|'.join(RULES)}) {{2,}}(.+)$", text, re.MULTILINE)


def evaluate(sums: Sums) -> dict[str, float]:
    """Work the rules out; what depends on a series that is not there, is not there either."""
    known: dict[str, float] = {
        "spent": sums.spent,
        "plain": sums.plain,
        "spent2": sums.spent_squared,
        "plain2": sums.plain_squared,
        "cross": sums.cross,
        "doubt": sums.doubt,
    }
    for name, text in promql_rules():
        expression, _, condition = text.replace("^", "**").partition(" and ")
        if set(re.findall(r"[a-zA-Z]\w*", text)) - {"and", *FUNCTIONS} <= set(known) and (
            not condition or eval(condition, {}, known)  # noqa: S307
        ):
            try:
                known[name] = eval(expression, FUNCTIONS, known)  # noqa: S307
            except ZeroDivisionError:  # PromQL goes on with this
                known[name] = math.inf
    return known


def test_the_docstring_has_all_rules() -> None:
    """Names in an order in which each can be worked out from those above it."""
    assert tuple(name for name, _ in promql_rules()) == RULES


@pytest.mark.parametrize("completions", [1, 3, 6, 12, 50, 400])
@pytest.mark.parametrize("error", [0.0, 0.03, 0.6])
@pytest.mark.parametrize("seed", range(5))
def test_promql_in_the_docstring_is_the_same_arithmetic(
    completions: int, error: float, seed: int
) -> None:
    """The rules, worked out as they stand, give the interval over random completions."""
    draw = random.Random(seed)
    seen = [
        Sums.of(draw.lognormvariate(1, 0.8), draw.lognormvariate(1.2, 0.8), draw.random() * error)
        for _ in range(completions)
    ]
    sums = reduce(add, seen)
    found, known = speedup(sums), evaluate(sums)
    assert found is not None
    assert known["R"] == pytest.approx(found.ratio, rel=1e-12)
    if found.interval is None:
        assert known["n"] < 4
        assert "low" not in known
        assert "high" not in known
    else:
        assert known["n"] >= 4
        assert known["low"] == pytest.approx(found.interval.low, rel=1e-9, abs=1e-9)
        assert known["high"] == pytest.approx(found.interval.high, rel=1e-9)


def test_promql_knows_the_limits_of_the_arithmetic() -> None:
    """Equal ratios, a baseline that says nothing, and a low end that would be negative."""
    cases = [
        reduce(add, (Sums.of(0.1 * i, 0.11 * i) for i in range(1, 40))),
        total(2.0, PLAIN, 1.0),
        total(1.0, (0.1, 0.1, 9.0, 0.1, 0.1)),
    ]
    for sums in cases:
        found, known = speedup(sums), evaluate(sums)
        assert found is not None
        assert found.interval is not None
        assert known["low"] == pytest.approx(found.interval.low, abs=1e-6)
        assert known["high"] == pytest.approx(found.interval.high, rel=1e-6)
