"""Counters that never decrease, whatever the servers behind them do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specmeter.upstream_pages import Key, Name, Totals, Value
from specmeter.upstream_pages.totals import MAX_PROCESSES

TOKENS, DRAFTS = Key(Name.GENERATED_TOKENS, "m"), Key(Name.DRAFTS, "m")


def take(totals: Totals, process: str = "", **numbers: float) -> dict[str, float]:
    """Take numbers, and give the totals."""
    keys = {"tokens": TOKENS, "drafts": DRAFTS}
    totals.take({keys[name]: Value(number) for name, number in numbers.items()}, process)
    named = {key: name for name, key in keys.items()}
    return {named[key]: total for key, total in totals.items()}


def test_before_the_first_page_there_is_nothing() -> None:
    """No total is 0 before a page said so."""
    assert dict(Totals().items()) == {}


def test_the_first_page_is_shown_as_it_is() -> None:
    """What the server counted before we came is its count too."""
    assert take(Totals(), tokens=100) == {"tokens": 100}


def test_a_number_that_went_down_is_a_new_process() -> None:
    """Then all of its numbers are new ones, also one that is larger than before."""
    totals = Totals()
    take(totals, tokens=100, drafts=10)
    assert take(totals, tokens=30, drafts=15) == {"tokens": 130, "drafts": 25}
    assert take(totals, tokens=31, drafts=15) == {"tokens": 131, "drafts": 25}


def test_a_counter_that_a_new_process_does_not_have_yet() -> None:
    """What the process before counted is counted once."""
    totals = Totals()
    take(totals, tokens=100, drafts=10)
    assert take(totals, tokens=30) == {"tokens": 130, "drafts": 10}


def test_a_process_that_says_it_is_new() -> None:
    """A restart is seen even if every number is larger by the time it is looked at."""
    totals = Totals()
    take(totals, "1", tokens=100, drafts=10)
    assert take(totals, "2", tokens=150, drafts=12) == {"tokens": 250, "drafts": 22}


def test_a_process_that_goes_down_all_the_same() -> None:
    """What a process says of itself does not make a counter fall."""
    totals = Totals()
    take(totals, "1", tokens=100)
    assert take(totals, "1", tokens=4) == {"tokens": 104}


def test_a_counter_that_is_missing_stays() -> None:
    """A page without it says nothing of it, before and after a restart."""
    totals = Totals()
    take(totals, "1", tokens=100, drafts=10)
    assert take(totals, "1", tokens=101) == {"tokens": 101, "drafts": 10}
    assert take(totals, "2", tokens=5) == {"tokens": 106, "drafts": 10}
    assert take(totals, "2", tokens=5, drafts=1) == {"tokens": 106, "drafts": 11}


def test_a_series_that_vanishes_does_not_look_like_a_restart() -> None:
    """One engine less on the page takes nothing away, and adds nothing."""
    totals = Totals()
    engines = {Key(Name.DRAFTS, "m", None, f"engine={i}"): Value(10.0 * (i + 1)) for i in range(2)}
    totals.take(engines, "")
    first, second = engines
    totals.take({first: Value(11)}, "")
    assert dict(totals.items()) == {first: 11, second: 20}


def test_replicas_that_answer_in_turn() -> None:
    """Two servers behind one address are not one server that restarts at every look."""
    totals = Totals()
    for look in range(50):
        shown = take(totals, "ab"[look % 2], tokens=1000 * (look % 2 + 1) + look)
    assert shown == {"tokens": 1048 + 2049}


def test_a_process_that_is_not_told_is_the_last_one() -> None:
    """A header that is missing once adds nothing."""
    totals = Totals()
    take(totals, "1", tokens=100)
    assert take(totals, "", tokens=110) == {"tokens": 110}
    assert take(totals, "1", tokens=120) == {"tokens": 120}


def test_a_process_that_is_told_late_is_the_same_one() -> None:
    """A header that comes later adds nothing either."""
    totals = Totals()
    take(totals, "", tokens=100)
    assert take(totals, "1", tokens=110) == {"tokens": 110}


def test_many_restarts() -> None:
    """Processes that ended long ago are counted, and not kept."""
    totals = Totals()
    for number in range(MAX_PROCESSES * 3):
        shown = take(totals, str(number), tokens=10)
    assert shown == {"tokens": 10 * MAX_PROCESSES * 3}
    assert len(totals._processes) == MAX_PROCESSES


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 1000), st.integers(0, 1000)), max_size=30),
    st.booleans(),
)
def test_any_history(history: list[tuple[bool, int, int]], is_told: bool) -> None:
    """Totals never fall; with processes that tell themselves apart they are all that was seen."""
    totals = Totals()
    process, counted, ended, before = 0, [0, 0], [0, 0], (0.0, 0.0)
    for restarts, tokens, drafts in history:
        if restarts:
            process, ended, counted = (
                process + 1,
                [a + b for a, b in zip(ended, counted, strict=True)],
                [0, 0],
            )
        counted = [counted[0] + tokens, counted[1] + drafts]
        marker = str(process) if is_told else ""
        shown = take(totals, marker, tokens=counted[0], drafts=counted[1])
        after = (shown["tokens"], shown["drafts"])
        assert all(new >= old for new, old in zip(after, before, strict=True))
        seen = (counted[0] + ended[0], counted[1] + ended[1])
        if is_told:
            assert after == seen
        else:
            assert all(new <= all_seen for new, all_seen in zip(after, seen, strict=True))
        before = after
