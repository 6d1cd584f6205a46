"""When a cell is faster, slower, or cannot be told."""

import itertools
import math
import random
from collections.abc import Callable

import pytest

from specmeter.compare.verdict import Comparison, Speeds
from specmeter.speedup.interval import Verdict
from tests.compare.runs import results

THREE = 3
FIVE = 5


def compared(spec: list[float], plain: list[float], usual: float = 1.0) -> Comparison:
    return Comparison(Speeds.of(spec), Speeds.of(plain), usual)


def summed_up(median: float, ratio: float, place: float, repeats: int) -> Speeds:
    """Speeds with this median and range ratio; `place` (0 to 1) is where in the range it lies."""
    return Speeds(median, median / ratio**place, median * ratio ** (1 - place), repeats)


class TestThePublishedCases:
    @pytest.mark.parametrize("repeats", [2, 3, 4, 5, 7, 20])
    @pytest.mark.parametrize("other", [1.0, 1.01, 1.1, 1.26, 2.0])
    @pytest.mark.parametrize("places", [*itertools.product((0.0, 0.3, 0.5, 1.0), repeat=2)])
    def test_1_12_with_a_range_ratio_of_1_26_cannot_be_told(
        self, repeats: int, other: float, places: tuple[float, float]
    ) -> None:
        """Whichever server is so noisy, however many repeats, wherever the medians lie."""
        for ratios in ((1.26, other), (other, 1.26)):
            spec = summed_up(112, ratios[0], places[0], repeats)
            plain = summed_up(100, ratios[1], places[1], repeats)
            assert Comparison(spec, plain).verdict is Verdict.CANNOT_TELL

    @pytest.mark.parametrize("repeats", [2, 3, 5])
    def test_6_43_is_faster(self, repeats: int) -> None:
        """With the same noise on both servers, wherever the medians lie."""
        for places in itertools.product((0.0, 0.5, 1.0), repeat=2):
            spec = summed_up(643, 1.26, places[0], repeats)
            plain = summed_up(100, 1.26, places[1], repeats)
            assert Comparison(spec, plain).verdict is Verdict.FASTER

    @pytest.mark.parametrize("spec_median", [21.04, 23.0, 25.23])
    @pytest.mark.parametrize("plain_median", [33.98, 41.0, 50.34])
    def test_21_to_25_against_34_to_50_is_slower_at_best_0_74(
        self, spec_median: float, plain_median: float
    ) -> None:
        """Whatever the medians of five repeats are within these ranges."""
        found = Comparison(
            Speeds(spec_median, 21.04, 25.23, FIVE), Speeds(plain_median, 33.98, 50.34, FIVE)
        )
        assert found.verdict is Verdict.SLOWER
        assert round(found.best, 2) == 0.74
        assert round(found.worst, 2) == 0.42

    def test_three_repeats_are_enough_for_that(self) -> None:
        """With the third repeat in the middle of each range."""
        found = compared([21.04, 23.0, 25.23], [50.34, 33.98, 41.0])
        assert found.verdict is Verdict.SLOWER


class TestComparison:
    def test_worst_case_is_slowest_speculative_over_fastest_plain(self) -> None:
        """And the best case the other way round; the speedup is median over median."""
        found = compared([10, 14, 12], [6, 5, 4])
        assert found.speedup == 12 / 5
        assert found.worst == 10 / 6
        assert found.best == 14 / 4

    def test_range_ratio_is_the_noise(self) -> None:
        """Of one server: fastest over slowest."""
        assert Speeds.of([10, 12.6, 11]).range_ratio == pytest.approx(1.26)

    def test_one_repeat_tells_nothing(self) -> None:
        """However far apart the servers are, as nothing shows the noise."""
        found = compared([1000], [1])
        assert found.verdict is Verdict.CANNOT_TELL
        assert math.isinf(found.noise)

    def test_one_repeat_of_one_server_tells_nothing_either(self) -> None:
        """The server with fewer repeats counts."""
        assert compared([1000], [1, 1, 1]).verdict is Verdict.CANNOT_TELL

    def test_ranges_that_touch_cannot_be_told(self) -> None:
        """Even where the medians are far apart."""
        assert compared([10, 20, 21], [5, 5.1, 10]).verdict is Verdict.CANNOT_TELL

    def test_narrow_ranges_by_luck_do_not_tell(self) -> None:
        """Where other cells of the comparison show that the noise is larger."""
        lucky = [31.0, 31.1, 31.2], [29.0, 29.1, 29.2]
        assert compared(*lucky).verdict is Verdict.FASTER
        assert compared(*lucky, usual=1.3).verdict is Verdict.CANNOT_TELL

    def test_swapping_the_servers_turns_the_verdict_round(self) -> None:
        """Faster and slower are asked the same."""
        dice = random.Random(3)
        seen = set()
        opposite = {
            Verdict.FASTER: Verdict.SLOWER,
            Verdict.SLOWER: Verdict.FASTER,
            Verdict.CANNOT_TELL: Verdict.CANNOT_TELL,
        }
        for _ in range(300):
            one, other = ([math.exp(dice.gauss(0, 0.2)) for _ in range(THREE)] for _ in "ab")
            verdict = compared(one, other).verdict
            assert compared(other, one).verdict is opposite[verdict]
            seen.add(verdict)
        assert seen == set(opposite)


def log_normal(dice: random.Random) -> float:
    return math.exp(dice.gauss(0, 0.08))


def busy_now_and_then(dice: random.Random) -> float:
    """Speed of a machine on which something else runs a third of the time."""
    return math.exp(dice.gauss(0, 0.02)) * (0.65 if dice.random() < 1 / 3 else 1.0)


Noise = Callable[[random.Random], float]


def verdicts(noise: Noise, ratio: float, repeats: int, rounds: int) -> dict[Verdict, float]:
    """Simulate single cells, and return the share of each verdict."""
    dice = random.Random(repeats)
    counts = dict.fromkeys((Verdict.FASTER, Verdict.SLOWER, Verdict.CANNOT_TELL), 0)
    for _ in range(rounds):
        spec = [ratio * noise(dice) for _ in range(repeats)]
        counts[compared(spec, [noise(dice) for _ in range(repeats)]).verdict] += 1
    return {verdict: count / rounds for verdict, count in counts.items()}


class TestSimulation:
    @pytest.mark.parametrize("repeats", [2, 3, 4, 5, 7])
    def test_equal_servers_are_rarely_told_apart(self, repeats: int) -> None:
        """At most 6 % of 5,000 single cells say faster or slower, and each about as often."""
        found = verdicts(log_normal, 1.0, repeats, 5000)
        assert found[Verdict.FASTER] < 0.035
        assert found[Verdict.SLOWER] < 0.035
        assert found[Verdict.FASTER] + found[Verdict.SLOWER] < 0.06

    @pytest.mark.parametrize(
        ("noise", "repeats", "of_cells", "of_wholes"),
        [
            (log_normal, 2, 0.02, 0.07),
            (log_normal, 3, 0.03, 0.07),
            (log_normal, 5, 0.01, 0.01),
            (busy_now_and_then, 2, 0.06, 0.08),
            (busy_now_and_then, 3, 0.06, 0.08),
            (busy_now_and_then, 5, 0.01, 0.01),
        ],
    )
    def test_six_cells_of_equal_servers_are_rarely_told_apart(
        self, noise: Noise, repeats: int, of_cells: float, of_wholes: float
    ) -> None:
        """Neither the cells nor the whole, also on a machine that is busy now and then."""
        dice = random.Random(repeats)
        cells = [(prompt, 100) for prompt in "abcdef"]
        told = told_wholes = 0
        for _ in range(700):
            spec, plain = (
                {cell: [noise(dice) for _ in range(repeats)] for cell in cells} for _ in "ab"
            )
            found = results(spec, plain)
            assert found.overall is not None
            told += sum(one.comparison.verdict is not Verdict.CANNOT_TELL for one in found.cells)
            told_wholes += found.overall.verdict is not Verdict.CANNOT_TELL
        assert told / (700 * len(cells)) < of_cells
        assert told_wholes / 700 < of_wholes

    def test_the_factors_leave_five_percent(self) -> None:
        """Those of two and three repeats: neither more errors nor needlessly few verdicts."""
        for repeats in (2, 3):
            found = verdicts(log_normal, 1.0, repeats, 20000)
            assert 0.04 < found[Verdict.FASTER] + found[Verdict.SLOWER] < 0.055

    @pytest.mark.parametrize(("ratio", "verdict"), [(1.5, Verdict.FASTER), (0.6, Verdict.SLOWER)])
    def test_servers_that_differ_are_told_apart(self, ratio: float, verdict: Verdict) -> None:
        """By three repeats in most cases, where noise has a standard deviation of 8 %."""
        assert verdicts(log_normal, ratio, THREE, 2000)[verdict] > 0.8
