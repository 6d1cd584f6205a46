"""Baselines that were measured or given."""

import pytest

from specmeter.speedup.baseline import Source
from specmeter.speedup.fixed import FixedBaseline
from specmeter.speedup.interpolation import weights
from specmeter.speedup.load_cost import USUAL_COST
from specmeter.speedup.measured import MeasuredBaseline
from specmeter.speedup.strata import ANY, Conditions, Stratum
from specmeter.speedup.table import Point, Repeat, Table, points_of

HOUR = 3600.0

TABLE = Table(
    points=(
        Point(100, 1, 0.010, 0.03),
        Point(1100, 1, 0.020, 0.04),
        Point(100, 4, 0.020, 0.03),
        Point(1100, 4, 0.030, 0.04),
    ),
    measured_at=1000.0,
)


def ask(context: float | None, in_flight: float | None, at: float = 1000.0) -> tuple[float, float]:
    found = MeasuredBaseline(TABLE).plain_speed(Conditions.of(context, in_flight), 100, at)
    return found.seconds_per_token, found.relative_error


def test_straight_lines_between_contexts_and_loads() -> None:
    """Half-way between two contexts, a third of the way between two loads."""
    assert ask(600, 1)[0] == pytest.approx(0.015)
    assert ask(600, 2)[0] == pytest.approx(0.015 + 0.010 / 3)
    assert ask(1100, 4)[0] == pytest.approx(0.030)


def test_errors_of_neighbouring_points_are_independent() -> None:
    """At 600 tokens a third of 0.015 s comes from 0.010 s, two thirds from 0.020 s."""
    expected = ((1 / 3 * 0.03) ** 2 + (2 / 3 * 0.04) ** 2) ** 0.5
    baseline = MeasuredBaseline(TABLE)
    for _ in range(600):  # more than the little that it takes for granted
        found = baseline.plain_speed(Conditions.of(600, 1), 100, 1000.0)
    assert found.relative_error == pytest.approx(expected, rel=0.01)


def test_before_there_is_traffic_it_is_taken_to_be_everywhere() -> None:
    """The first completion does not make its neighbours the only points that count."""
    assert ask(100, 1)[1] < 0.03


def test_lines_go_on_beyond_the_last_point_with_as_much_doubt() -> None:
    """At 2100 tokens 0.030 s, which is 50 % more than was measured with that load."""
    seconds, error = ask(2100, 1)
    assert seconds == pytest.approx(0.030)
    assert error == pytest.approx(0.5, rel=0.01)


def test_unknown_context_takes_the_mean_of_all() -> None:
    """The mean of 0.010 and 0.020 s, each a third off it."""
    seconds, error = ask(None, 1)
    assert seconds == pytest.approx(0.015)
    assert error > 1 / 3


def test_a_table_widens_with_age() -> None:
    """After a day, 10 % are added in quadrature."""
    fresh, old = ask(1100, 1)[1], ask(1100, 1, 1000 + 24 * HOUR)[1]
    assert old == pytest.approx((fresh**2 + 0.1**2) ** 0.5)


def test_one_point_has_to_do_for_everything() -> None:
    """It is used for every context, with 10 % of doubt."""
    baseline = MeasuredBaseline(Table((Point(100, 1, 0.01, 0.0),), 0.0))
    found = baseline.plain_speed(Conditions.of(5000, 1), 100, 0.0)
    assert found.seconds_per_token == 0.01
    assert found.relative_error == pytest.approx(0.1)
    assert found.source is Source.MEASURED


def test_one_load_says_little_of_others() -> None:
    """Four in flight are two doublings more: the usual for these, and as much doubt."""
    points = (Point(100, 1, 0.01, 0.0), Point(1100, 1, 0.01, 0.0))
    found = MeasuredBaseline(Table(points, 0.0)).plain_speed(Conditions.of(600, 4), 100, 0.0)
    assert found.seconds_per_token == pytest.approx(0.01 * USUAL_COST.factor(2))
    assert found.relative_error == pytest.approx(2 * USUAL_COST.error)


def test_what_others_in_flight_have_in_the_cache_counts() -> None:
    """After short ones, a long one in the company of three is looked up where all four are."""
    baseline = MeasuredBaseline(TABLE)
    first = baseline.plain_speed(Conditions.of(1100, 4), 100, 1000.0)
    assert first.seconds_per_token == pytest.approx(0.030)
    assert first.relative_error > 0.1
    for _ in range(5000):
        baseline.plain_speed(Conditions.of(100, 1), 100, 1000.0)
    found = baseline.plain_speed(Conditions.of(1100, 4), 100, 1000.0)
    assert found.seconds_per_token == pytest.approx(0.020 + 0.010 / 4, rel=0.01)
    assert found.relative_error == pytest.approx(0.03)
    assert baseline.plain_speed(Conditions.of(1100, 1), 100, 1000.0).seconds_per_token == 0.020


def test_a_line_that_slopes_the_wrong_way_does_not_lead_to_nothing() -> None:
    """Noise may make long contexts look fast; plain speed stays above half of the last point."""
    points = (Point(100, 1, 0.02, 0.0), Point(200, 1, 0.018, 0.0))
    found = MeasuredBaseline(Table(points, 0.0)).plain_speed(Conditions.of(9000, 1), 100, 0.0)
    assert found.seconds_per_token == pytest.approx(0.009)


def test_strata_of_a_table() -> None:
    """Points that fall into one stratum are averaged."""
    table = Table((Point(100, 1, 0.01, 0.02), Point(300, 1, 0.03, 0.04)), 0.0)
    (known,) = MeasuredBaseline(table).strata(0.0)
    assert known.stratum == Stratum("0-512", "1")
    assert known.seconds_per_token == pytest.approx(0.02)
    assert known.relative_error == pytest.approx(0.03)


def test_points_share_their_noise() -> None:
    """Eight repeats, each 10 % off the mean of its cell, leave four degrees of freedom."""
    cells = {
        (100.0, load): [Repeat(0.9 * load, 100), Repeat(1.1 * load, 100)] for load in (1, 2, 3, 4)
    }
    points = points_of(cells)
    assert [point.seconds_per_token for point in points] == pytest.approx([0.01, 0.02, 0.03, 0.04])
    noise = (8 * 0.01 / 4) ** 0.5 * 2.769373 / 1.959964 * 5 / 3  # t(4), as of five samples
    assert points[0].relative_error == pytest.approx(noise / 2**0.5, rel=1e-5)


def test_single_measurements_are_taken_to_be_as_noisy_as_usual() -> None:
    """Without repeats the error is 10 %, and a cell without measurements is left out."""
    (point,) = points_of({(100.0, 1): [Repeat(1.0, 100)], (200.0, 1): []})
    assert point.relative_error == 0.1


@pytest.mark.parametrize(
    ("value", "within", "expected"),
    [
        (10.0, False, [(0, 1.0), (1, 0.0)]),
        (15.0, False, [(0, 0.5), (1, 0.5)]),
        (40.0, False, [(1, -1.0), (2, 2.0)]),
        (40.0, True, [(1, 0.0), (2, 1.0)]),
        (0.0, False, [(0, 2.0), (1, -1.0)]),
        (None, False, [(0, 1 / 3), (1, 1 / 3), (2, 1 / 3)]),
    ],
)
def test_weights_of_neighbours(
    value: float | None, expected: list[tuple[int, float]], *, within: bool
) -> None:
    """Weights add up to 1 and make up the value."""
    assert weights([10.0, 20.0, 30.0], value, within=within) == expected


def test_a_fixed_number_is_the_same_everywhere() -> None:
    """Its error is 10 % unless it is told, and grows with age; it is blind to load and context."""
    found = FixedBaseline(0.02, 0.0).plain_speed(Conditions.of(9000, 8), 100, 2 * HOUR)
    assert found.seconds_per_token == 0.02
    assert found.stratum == Stratum(ANY, ANY)
    assert found.relative_error == pytest.approx((0.1**2 + 0.07**2 + 0.04**2) ** 0.5)
    assert FixedBaseline(0.02, 0.0, 0.0).strata(0.0)[0].relative_error == pytest.approx(0.07)
