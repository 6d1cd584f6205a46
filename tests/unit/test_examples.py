"""Every format: what it says, however it is cut, and whatever of it is damaged."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter.backends import BACKENDS
from specmeter.reader import Outcome
from specmeter.reading import Clock, Inconsistency, Reading
from tests.answers import is_possible, read_answer
from tests.examples import EXAMPLES, Example, Path

EACH = pytest.mark.parametrize("example", EXAMPLES, ids=str)
EACH_COUNT = pytest.mark.parametrize(
    ("example", "path"),
    [(example, path) for example in EXAMPLES for path in example.counts],
    ids=lambda value: str(value) if isinstance(value, Example) else ".".join(map(str, value)),
)


def the_reading(outcome: Outcome) -> Reading:
    (one,) = outcome.readings
    return one


def replaced(example: Example, path: Path, value: Any) -> bytes:
    """Return the answer with another value at a path."""
    messages = copy.deepcopy(example.messages)
    holder: Any = messages
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return example.framed(messages)


def without(example: Example, path: Path) -> bytes:
    """Return the answer without what is at a path."""
    messages = copy.deepcopy(example.messages)
    holder: Any = messages
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return example.framed(messages)


def says(one: Reading, expected: dict[str, Any]) -> bool:
    """Whether a reading has these attributes."""
    return all(
        getattr(one, name) == (pytest.approx(value) if isinstance(value, float) else value)
        for name, value in expected.items()
    )


def test_every_kind_has_an_example() -> None:
    """No server kind is left out."""
    assert {example.kind for example in EXAMPLES} == {backend.name for backend in BACKENDS}


@EACH
def test_what_it_says(example: Example) -> None:
    """The numbers of the format's own example, and nothing to complain of."""
    one = the_reading(read_answer(example.form, example.raw))
    assert says(one, example.says), one
    assert one.inconsistencies == ()


@EACH
def test_who_sent_it(example: Example) -> None:
    """An answer tells its server's kind and its model."""
    outcome = read_answer(example.form, example.raw)
    assert outcome.backend.name == example.kind
    assert outcome.recognised == (example.kind != "openai")
    assert outcome.unread == ()
    nameless = example.name.startswith("generate") and example.kind != "ollama"
    assert (outcome.model is None) == nameless


@EACH
def test_only_its_own_kind_knows_it(example: Example) -> None:
    """Of the other kinds only llama.cpp, which is asked later, takes timings for its own."""
    knowing = [
        backend.name
        for backend in BACKENDS
        if any(backend.recognises(message) for message in example.messages)
    ]
    assert set(knowing) <= {example.kind, "llama_cpp"}
    assert knowing[:1] == ([] if example.kind == "openai" else [example.kind])


@given(st.sampled_from(EXAMPLES), st.lists(st.integers(0, 3000), max_size=10))
def test_any_split_gives_the_same_reading(example: Example, cuts: list[int]) -> None:
    """Where the pieces end does not matter, but for the proxy's own clock."""
    raw = example.raw
    bounds = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    pieces = [raw[a:b] for a, b in itertools.pairwise(bounds)]
    whole, split = read_answer(example.form, raw), read_answer(example.form, *pieces)
    first, second = the_reading(whole), the_reading(split)
    if second.clock is Clock.PROXY:
        assert first.decode_seconds is None
    else:
        assert first == second
    assert says(second, example.says), second
    assert (whole.model, whole.fingerprint) == (split.model, split.fingerprint)


@EACH_COUNT
@pytest.mark.parametrize("value", ["129", True, [], {}, 1.5])
def test_a_mistyped_count(example: Example, path: Path, value: Any) -> None:
    """What is no count is named, and does not come out."""
    one = the_reading(read_answer(example.form, replaced(example, path, value)))
    assert Inconsistency.WRONG_TYPE in one.inconsistencies
    assert is_possible(one)


@EACH_COUNT
@pytest.mark.parametrize(
    ("value", "reason"), [(-1, Inconsistency.NEGATIVE), (10**12, Inconsistency.TOO_LARGE)]
)
def test_a_count_out_of_range(
    example: Example, path: Path, value: int, reason: Inconsistency
) -> None:
    """A negative or an endless count is named, and does not come out."""
    one = the_reading(read_answer(example.form, replaced(example, path, value)))
    assert reason in one.inconsistencies
    assert is_possible(one)


@EACH_COUNT
def test_a_missing_count(example: Example, path: Path) -> None:
    """Null is absent, absent is unknown, and half of a pair is no pair."""
    null = read_answer(example.form, replaced(example, path, None))
    absent = read_answer(example.form, without(example, path))
    for outcome in (null, absent):
        for one in outcome.readings:
            assert is_possible(one)
            assert (one.drafted is None) == (one.accepted is None)
            assert set(one.inconsistencies) <= {
                Inconsistency.HALF_REPORTED,
                Inconsistency.POSITIONS_DISAGREE,
                Inconsistency.WRONG_TYPE,
            }
        assert outcome.readings or outcome.unread


@EACH_COUNT
def test_a_count_given_twice(example: Example, path: Path) -> None:
    """Of a member that stands twice the last one counts, as in every JSON reader."""
    name = orjson.dumps(str(path[-1])) + b":"
    raw = example.raw
    at = raw.rfind(name)
    if isinstance(path[-1], int) or at < 0:
        return
    twice = raw[:at] + name + b"7," + raw[at:]
    assert read_answer(example.form, twice).readings == read_answer(example.form, raw).readings


@EACH
def test_an_event_sent_twice(example: Example) -> None:
    """A repeated last event is never added up."""
    if example.form == "body":
        return
    twice = example.framed((*example.messages, example.messages[-1]))
    one = the_reading(read_answer(example.form, twice))
    assert says(one, example.says), one


@EACH
def test_a_truncated_answer(example: Example) -> None:
    """Cut off anywhere it is read as far as it goes, or unread; nothing is raised."""
    raw = example.raw
    for end in range(0, len(raw), 7):
        outcome = read_answer(example.form, raw[:end])
        assert outcome.readings or outcome.unread
        assert all(is_possible(one) for one in outcome.readings)
