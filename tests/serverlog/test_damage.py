"""Damage to llama.cpp's lines: it is counted, and never becomes a number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter.reading import RawNumbers, check
from specmeter.serverlog.entry import MEAN_LENGTH_DISAGREES, RATIO_DISAGREES, Found
from specmeter.serverlog.lines import Origin
from tests.serverlog.logs import DRAFT, UPTIME, lines, new_form, read, timing


def damaged(old: str, new: str) -> bytes:
    """Change something in a request's lines."""
    assert any(old in text for text in new_form())
    return lines(*(UPTIME + text.replace(old, new) for text in new_form()))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("   64 accepted", "   null accepted", "half_reported"),
        ("   64 accepted", "   -64 accepted", "negative"),
        ("   64 accepted", "   6z accepted", "wrong_type"),
        ("   64 accepted", "   nan accepted", "not_finite"),
        ("   64 accepted", "   640 accepted", "accepted_exceeds_drafted"),
        ("   64 accepted", "   46 accepted", RATIO_DISAGREES),
        ("   192 generated", "   193 generated", RATIO_DISAGREES),
        ("   192 generated", "   9999999999 generated", "too_large"),
        ("   192 generated", f"   {'9' * 5000} generated", "not_finite"),
        ("/   129 tokens", "/   -129 tokens", "negative"),
        ("/   129 tokens", "/   12q tokens", "wrong_type"),
        ("1600.00 ms", "nan ms", "not_finite"),
        ("1600.00 ms", "1e30 ms", "too_large"),
        ("mean len =  2.00", "mean len =  0.20", MEAN_LENGTH_DISAGREES),
        ("mean len =  2.00", "mean len = 99.00", MEAN_LENGTH_DISAGREES),
    ],
)
def test_impossible_numbers(old: str, new: str, fault: str) -> None:
    """The number is left out, the record stays, and what is wrong with it is kept."""
    entry = read(damaged(old, new)).only
    assert fault in entry.faults
    assert entry.slot == 0
    if fault != MEAN_LENGTH_DISAGREES:
        assert entry.output_per_step is None or entry.tokens_per_second is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("192 generated)", "19"),
        ("accepted /", "acc"),
        ("(   64", "   64"),
        ("/   129 tokens", "/   129 to"),
        ("1600.00 ms /", "1600.00"),
    ],
)
def test_lines_that_cannot_be_read(old: str, new: str) -> None:
    """A line of numbers that is not in its form is counted."""
    log = read(damaged(old, new))
    assert log.reader.unreadable == 1
    assert log.only.output_per_step is None


def test_a_damaged_line_is_not_nothing_drafted() -> None:
    """If the draft line is there and cannot be read, its absence does not count as a 0."""
    entry = read(damaged("192 generated)", "19")).only
    assert entry.reading.drafted is None


@pytest.mark.parametrize("place", range(6))
def test_lines_that_came_twice(place: int) -> None:
    """A line that a shipper sent twice counts once, and is told if it had numbers."""
    form = [UPTIME + text for text in new_form()]
    log = read(lines(*form[: place + 1], *form[place:]))
    assert log.only.reading.drafted == 192
    assert log.reader.repeated == (place in (0, 1, 4))
    assert log.reader.untimed == 0


def test_every_line_came_twice() -> None:
    """Also if that is so for all of them."""
    form = [UPTIME + text for text in new_form()]
    log = read(lines(*(text for line in form for text in (line, line))))
    assert (log.only.reading.drafted, log.reader.repeated) == (192, 3)


def test_endless_slots_and_sources() -> None:
    """Requests that never end are given out when there are too many to keep."""
    slots = [timing(DRAFT, slot=slot) for slot in range(5000)]
    sources = [f"box-{place}  | {timing('')}" for place in range(5000)]
    log = read(lines(*slots), lines(*sources))
    assert len(log.entries) == 5000


numbers = st.none() | st.integers(-2, 300) | st.floats(-2, 400) | st.sampled_from([10**12, "x"])


@given(numbers, numbers, numbers, numbers)
def test_the_short_way_is_the_check(
    generated: object, drafted: object, accepted: object, milliseconds: object
) -> None:
    """Numbers that are taken as they are would have passed the check as they are."""
    found = Found(
        server="x",
        origin=Origin(None, None, b""),
        generated=generated,
        drafted=drafted,
        accepted=accepted,
        decode_milliseconds=milliseconds,
    )
    assert found.entry().reading == check(
        RawNumbers(
            generated=generated,
            drafted=drafted,
            accepted=accepted,
            decode_milliseconds=milliseconds,
        )
    )
