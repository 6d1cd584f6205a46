"""Ratios of means, and what is known of their error."""

import math

import pytest

from specmeter.speedup.ratio import Ratio


def ratio(*samples: tuple[float, float]) -> Ratio:
    made = Ratio()
    for seconds, tokens in samples:
        made.add(seconds, tokens)
    return made


def test_ratio_of_means_is_no_mean_of_ratios() -> None:
    """90 tokens at 0.1 s and 10 at 0.5 s are 14 s for 100 tokens; the mean of ratios is 0.3."""
    assert ratio((9.0, 90), (5.0, 10)).mean == pytest.approx(0.14)


def test_effective_number_of_unequal_samples() -> None:
    """Samples of 90 and 10 tokens are worth 100²/8200 equal ones."""
    assert ratio((9.0, 90), (5.0, 10)).effective == pytest.approx(10000 / 8200)
    assert Ratio().effective == 0


def test_relative_error() -> None:
    """Residuals 0.2, -0.2, 0, 0, 0 s over 15 s, times t(4)/1.96 times 5/3."""
    made = ratio((3.2, 10), (2.8, 10), (3.0, 10), (3.0, 10), (3.0, 10))
    assert made.variance(made.mean) == pytest.approx(0.08)
    expected = 0.08**0.5 / 15 * 2.769373 / 1.959964 * 5 / 3
    assert made.relative_error == pytest.approx(expected, rel=1e-5)


def test_too_few_samples_have_no_finite_error() -> None:
    """Three samples do not tell how far they may be off."""
    assert ratio((1.0, 10), (1.0, 10), (1.0, 10)).relative_error == math.inf


def test_fading_keeps_the_mean_and_weighs_newer_samples_more() -> None:
    """Halved, 1 s for 10 tokens counts for half of 3 s for 10: the mean is 3.5/15."""
    made = ratio((1.0, 10))
    made.fade(0.5)
    assert made.mean == pytest.approx(0.1)
    made.add(3.0, 10)
    assert made.mean == pytest.approx(3.5 / 15)
    assert made.effective == pytest.approx(15**2 / 125)
    assert made.variance(0.0) == pytest.approx(0.25 * 1 + 9)


def test_sets_of_samples_add_up() -> None:
    """Two sets are as one that has both."""
    whole = ratio((1.0, 10), (3.0, 20))
    parts = ratio((1.0, 10))
    parts.include(ratio((3.0, 20)))
    assert parts == whole
