from specmeter.demo.tally import Ratio, Tally
from specmeter.reading import Reading
from tests.demo.completions import DRAFTED, SILENT, UNDRAFTED


def total(*readings: Reading) -> Tally:
    tally = Tally()
    for reading in readings:
        tally = tally.plus(reading)
    return tally


def test_ratios_are_sums_divided_by_sums() -> None:
    """Each total divides the sum of numerators by the sum of denominators, never averages."""
    tally = total(DRAFTED, UNDRAFTED)
    assert tally.acceptance == Ratio(64, 192)
    assert tally.output_per_step == Ratio(230, 65 + 101)
    assert tally.tokens_per_second == Ratio(228, 3.6)
    assert tally.completions == 2


def test_first_token_is_not_decode_time() -> None:
    """Tokens per second count all but each completion's first token."""
    assert total(UNDRAFTED).tokens_per_second.value == 50.0


def test_unknown_stays_unknown() -> None:
    """A completion that reports nothing adds to no ratio, and alone gives none."""
    assert total(SILENT) == Tally(completions=1)
    assert total(SILENT).acceptance.value is None
    assert total(SILENT, DRAFTED).acceptance == Ratio(64, 192)


def test_nothing_drafted_is_no_acceptance_of_zero() -> None:
    """Where nothing was drafted the counts are 0, but there is no acceptance."""
    tally = total(UNDRAFTED)
    assert tally.acceptance == Ratio(0, 0)
    assert tally.acceptance.value is None
    assert tally.output_per_step.value == 1.0
