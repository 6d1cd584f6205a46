"""The fuzzing of responses finds what it looks for, and here nothing."""

import io
import itertools

from rich.console import Console

from tests.fuzz.responses import Fuzz, main, run_for


def test_a_few_hundred_cases_find_nothing() -> None:
    """What runs for minutes elsewhere runs here for a moment, with the same cases each time."""
    fuzz = Fuzz(seed=1)
    damaged = {fuzz.run(case) for case in range(600)}
    assert len(damaged) > 50


def test_what_gives_way_is_told() -> None:
    """The first reading that cannot be ends it."""
    picky = Fuzz(seed=5, possible=lambda reading: not reading.drafted)
    told = io.StringIO()
    case = run_for(picky, 20.0, itertools.count(), Console(file=told))
    assert case is not None
    assert "BrokenError: impossible: Reading(" in told.getvalue()


def test_one_case_again() -> None:
    """A case is told by its seed and number."""
    assert main(["--seed", "5", "--case", "3"]) == 0
