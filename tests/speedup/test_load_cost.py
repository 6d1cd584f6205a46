"""What more requests in flight cost."""

import pytest

from specmeter.speedup.load_cost import USUAL_COST, load_cost
from specmeter.speedup.ratio import Ratio
from specmeter.speedup.strata import ANY, Stratum


def samples(cells: dict[Stratum, tuple[float, int]]) -> dict[Stratum, Ratio]:
    """Return so many equal samples of so many seconds per token."""
    made: dict[Stratum, Ratio] = {}
    for stratum, (per_token, count) in cells.items():
        ratio = made[stratum] = Ratio()
        for _ in range(count):
            ratio.add(per_token * 100, 100)
    return made


def test_the_usual_before_anything_is_known() -> None:
    """A fifth more a doubling, and as much doubt; one load alone tells nothing of others."""
    assert load_cost({}, 0.2) == USUAL_COST
    assert USUAL_COST.factor(2) == pytest.approx(1.49, abs=0.01)
    alone = samples({Stratum("0-512", "1"): (0.02, 90), Stratum("0-512", ANY): (0.09, 90)})
    assert load_cost(alone, 0.2) == USUAL_COST


def test_two_loads_of_one_context_tell() -> None:
    """Twice the time at three to four in flight: a growth of ln 2 in two doublings."""
    known = samples({Stratum("0-512", "1"): (0.02, 900), Stratum("0-512", "3-4"): (0.04, 900)})
    cost = load_cost(known, 0.1)
    assert cost.factor(2) == pytest.approx(2, rel=0.01)
    assert cost.error == pytest.approx(0.1, abs=0.001)  # it may bend all the same


def test_what_cannot_be_is_not_believed() -> None:
    """Numbers of a damaged file lead to no overflow further on."""
    known = samples({Stratum("0-512", "1"): (1e-200, 900), Stratum("0-512", "2"): (1e90, 900)})
    assert load_cost(known, 0.2).factor(7) == pytest.approx(4**7, rel=1e-6)


def test_few_samples_are_believed_little() -> None:
    """One of each load, with 20 % of noise: half-way between the usual and what they say."""
    known = samples({Stratum("0-512", "1"): (0.02, 1), Stratum("0-512", "2"): (0.02, 1)})
    cost = load_cost(known, 0.2)
    weight, said = 1 / 0.2**2, 0.5 / 0.2**2
    assert cost.growth == pytest.approx(0.2 * weight / (weight + said))


def test_contexts_are_not_mistaken_for_loads() -> None:
    """Long contexts are slower, and come at higher loads here: that says nothing of load."""
    known = samples({Stratum("0-512", "1"): (0.02, 90), Stratum("2k-8k", "3-4"): (0.09, 90)})
    assert load_cost(known, 0.2) == USUAL_COST
