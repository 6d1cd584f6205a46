"""Drift, origin, mix and bound: the small parts of a baseline."""

import pytest

from specmeter.speedup.baseline import Origin, Source
from specmeter.speedup.bound import plain_bound, share_of_bound
from specmeter.speedup.drift import FOLLOWED_DRIFT_PER_HOUR, drift_error
from specmeter.speedup.mix import Mix, error_of_mix


@pytest.mark.parametrize(
    ("age", "error"), [(0, 0), (3600, 0.02), (3 * 3600, 0.06), (86400, 0.1), (-5, 0)]
)
def test_what_is_older_is_trusted_less(age: float, error: float) -> None:
    """2 % an hour up to 10 %; a clock that was set back makes nothing better than new."""
    assert drift_error(age) == pytest.approx(error)


def test_a_baseline_that_follows_is_trusted_more() -> None:
    """Less than that for each hour it lags behind."""
    assert drift_error(3600, FOLLOWED_DRIFT_PER_HOUR) == pytest.approx(0.015)


def test_order_of_sources() -> None:
    """Best first."""
    assert list(Source) == ["holdout", "shadow", "measured", "fixed", "undrafted"]


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        (Origin("b9000-abcdef1"), Origin("b9000-abcdef1"), False),
        (Origin("b9000-abcdef1"), Origin("b9001-abcdef1"), True),
        (Origin("vllm-0.32.0-1adf2225"), Origin("vllm-0.32.0-77e0b1c2"), False),
        (Origin("vllm-0.32.0-1adf2225"), Origin("vllm-0.33.0-1adf2225"), True),
        (Origin("b0-unknown"), Origin("b0-unknown"), False),
        (Origin(), Origin("b9000-abcdef1"), False),
        (Origin("b9000-abcdef1", "m"), Origin("", "m2"), True),
        (Origin("b9000-abcdef1", "m"), Origin("b9000-abcdef1", ""), False),
    ],
)
def test_builds_and_models_differ_if_both_are_known(
    one: Origin, other: Origin, *, differs: bool
) -> None:
    """A hash at the end may be that of a configuration; unknown differs from nothing."""
    assert one.differs(other) is differs
    assert other.differs(one) is differs


def test_unknown_parts_of_an_origin_are_completed() -> None:
    """What becomes known is kept, what is known stays."""
    assert Origin("b1", "").completed(Origin("b2", "m")) == Origin("b1", "m")


def test_shares_of_a_mix() -> None:
    """Plain seconds by part, over all of them."""
    mix: Mix[str] = Mix()
    assert mix.shares() == {}
    mix.add("a", 3.0)
    mix.add("b", 1.0)
    mix.add("a", 4.0)
    assert mix.shares() == {"a": 7 / 8, "b": 1 / 8}


def test_a_mix_forgets() -> None:
    """After a thousand questions of another kind, the first thousand hardly count."""
    mix: Mix[str] = Mix()
    for part in ("a", "b"):
        for _ in range(1000):
            mix.add(part, 1.0)
    assert mix.shares()["a"] < 0.15


def test_independent_errors_partly_cancel() -> None:
    """Shares 0.6 and 0.4 with errors of 10 and 20 %: √(0.06² + 0.08²) = 10 %."""
    assert error_of_mix({"a": 0.6, "b": 0.4}, {"a": 0.1, "b": 0.2}, {}) == pytest.approx(0.1)


def test_errors_cancel_where_traffic_is_made_up_like_the_samples() -> None:
    """Only the difference of the shares counts: 0.1 times 10 % and 0.1 times 20 %."""
    shares, errors = {"a": 0.6, "b": 0.4}, {"a": 0.1, "b": 0.2}
    assert error_of_mix(shares, errors, shares) == 0
    measured = {"a": 0.7, "b": 0.3}
    assert error_of_mix(shares, errors, measured) == pytest.approx((0.01**2 + 0.02**2) ** 0.5)


@pytest.mark.parametrize(
    ("bandwidth", "weights", "bound"), [(546, 42.52, 12.841), (546, 6.976, 78.268)]
)
def test_bound_of_plain_decoding(bandwidth: float, weights: float, bound: float) -> None:
    """All weights are read once a token."""
    assert plain_bound(bandwidth, weights) == pytest.approx(bound, abs=5e-4)


def test_share_of_the_bound() -> None:
    """0.05 s a token are 20 tok/s: half of 40. Above 1 the premise is broken."""
    assert share_of_bound(0.05, 40) == pytest.approx(0.5)
    assert share_of_bound(0.02, 40) > 1
