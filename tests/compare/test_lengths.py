"""What is said of the lengths at which verdicts were measured."""

from specmeter.compare.lengths import length_notes
from tests.compare.runs import results

FAST, PLAIN = [100.0, 101.0, 102.0], [50.0, 51.0, 52.0]


def test_lengths_that_disagree_are_told() -> None:
    """Each verdict holds only for the length it was measured at."""
    (note,) = length_notes(
        results({("a", 100): FAST, ("a", 500): PLAIN}, {("a", 100): PLAIN, ("a", 500): PLAIN})
    )
    assert note.startswith("a: faster at 101, cannot tell from noise at 501 tokens")
    assert "only for the length it was measured at" in note


def test_lengths_that_agree_need_no_word() -> None:
    """Nothing is said."""
    both = {("a", 100): FAST, ("a", 500): FAST}
    assert length_notes(results(both, {("a", 100): PLAIN, ("a", 500): PLAIN})) == []


def test_one_length_is_told() -> None:
    """It may be otherwise at others; prompts of the same length share a sentence."""
    speeds = {("a", 100): FAST, ("b", 100): FAST}
    (note,) = length_notes(results(speeds, {("a", 100): PLAIN, ("b", 100): PLAIN}))
    assert note.startswith("a, b: measured at 101 tokens only")


def test_answers_that_end_alike_are_one_length() -> None:
    """Though two lengths were asked for, both answers have nearly the same tokens."""
    speeds = {("a", 100): FAST, ("a", 104): FAST}
    (note,) = length_notes(results(speeds, {("a", 100): PLAIN, ("a", 104): PLAIN}))
    assert "measured at 101 tokens only" in note
