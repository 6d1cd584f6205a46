"""What repeats add up to."""

import pytest

from specmeter.baseline.plan import Cell
from specmeter.baseline.report import lines
from specmeter.baseline.results import Results
from specmeter.reading import Clock, Reading


def reading(speed: float, prompt: int = 224, generated: int = 65) -> Reading:
    return Reading(
        generated=generated,
        prompt=prompt,
        decode_seconds=(generated - 1) / speed,
        clock=Clock.SERVER,
    )


def results() -> Results:
    found = Results()
    for speed in (50.0, 40.0, 45.0):
        found.add(Cell(256, 1), [reading(speed)])
        found.add(Cell(256, 2), [reading(speed / 2), reading(speed / 2, prompt=226)])
    return found


def test_a_point_is_where_the_server_says_that_it_was() -> None:
    """Its context comes from the tokens that the server counted, not from what was wanted."""
    table = results().table(measured_at=1.0, build="b1", model="m")
    assert [(point.context, point.in_flight) for point in table.points] == [
        (256.5, 1),
        (257.5, 2),
    ]
    assert table.points[0].seconds_per_token == pytest.approx((1 / 50 + 1 / 40 + 1 / 45) / 3)
    assert table.points[1].seconds_per_token == pytest.approx(2 * (1 / 50 + 1 / 40 + 1 / 45) / 3)
    assert (table.build, table.model, table.measured_at) == ("b1", "m", 1.0)


def test_requests_of_one_repeat_are_one_repeat() -> None:
    """What disturbs one of them disturbs all, so that they are no repeats of each other."""
    assert [len(repeats) for repeats in results().repeats().values()] == [3, 3]


def test_the_spread_is_shown() -> None:
    """Slowest, fastest, and their ratio with the number of repeats."""
    head, first, second = lines(results())
    assert head.split()[:1] == ["context"]
    assert first.split() == ["256", "1", "44.6", "22.41", "40.0", "50.0", "1.25", "of", "3"]
    assert second.split()[:2] == ["258", "2"]


def test_a_reading_without_numbers_is_none() -> None:
    """Nothing is made up."""
    with pytest.raises(ValueError, match="without tokens"):
        Results().add(Cell(256, 1), [Reading(generated=65)])
