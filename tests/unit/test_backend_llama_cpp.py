"""llama.cpp: the `timings` object."""

from typing import Any

import pytest

from specmeter.backends.llama_cpp import LlamaCpp
from specmeter.reading import Inconsistency, Reading, Speculation, check
from specmeter.unread import Unread
from tests.examples.timings import TIMINGS


def read(*messages: dict[str, Any]) -> list[Reading]:
    return [check(numbers) for numbers in LlamaCpp().extract(messages).numbers]


def test_numbers_of_a_body() -> None:
    """All numbers of the format's own example."""
    (one,) = read({"timings": TIMINGS})
    assert (one.generated, one.drafted, one.accepted) == (129, 192, 64)
    assert (one.prompt, one.cached_prompt) == (41, 30)
    assert one.target_steps == 65
    assert one.acceptance == pytest.approx(1 / 3)
    assert one.seconds_per_token == pytest.approx(0.0125)
    assert one.rounds is None


POSTED = [
    ({"prompt_n": 1, "predicted_n": 200, "predicted_ms": 11082.606}, (347, 65), (0.187, 1.48)),
    ({"prompt_n": 13, "predicted_n": 200, "predicted_ms": 9840.04}, (304, 70), (0.230, 1.54)),
    ({"prompt_n": 35, "predicted_n": 1793, "predicted_ms": 156488.86}, (1717, 1093), (0.637, 2.56)),
    ({"prompt_n": 20, "predicted_n": 256, "predicted_ms": 2296.72}, (259, 167), (0.645, 2.88)),
]


@pytest.mark.parametrize(("timings", "drafts", "rates"), POSTED)
def test_numbers_that_people_posted(
    timings: dict[str, Any], drafts: tuple[int, int], rates: tuple[float, float]
) -> None:
    """Real timings of an M1 and others, and what they come to."""
    (one,) = read({"timings": {**timings, "draft_n": drafts[0], "draft_n_accepted": drafts[1]}})
    assert one.prompt == timings["prompt_n"]
    assert one.acceptance == pytest.approx(rates[0], abs=5e-4)
    assert one.output_per_step == pytest.approx(rates[1], abs=5e-3)
    assert one.decode_seconds == pytest.approx(timings["predicted_ms"] / 1000)
    assert one.inconsistencies == ()


def test_accepted_tokens_that_were_not_emitted() -> None:
    """A stop word in the middle of a round: kept, said, and no negative steps."""
    timings = {"predicted_n": 10, "draft_n": 64, "draft_n_accepted": 22}
    (one,) = read({"timings": timings})
    assert one.inconsistencies == (Inconsistency.ACCEPTED_NOT_BELOW_GENERATED,)
    assert one.target_steps == 2


@pytest.mark.parametrize("nothing", [{}, {"draft_n": None, "draft_n_accepted": None}])
def test_no_draft_fields_are_nothing_drafted(nothing: dict[str, Any]) -> None:
    """The server leaves both out; null is the same as absent."""
    timings: dict[str, Any] = {"predicted_n": 129, "predicted_ms": 1600.0}
    timings |= nothing
    (one,) = read({"timings": timings})
    assert one.speculation is Speculation.NOT_DRAFTED
    assert one.target_steps == 129


def test_no_timings_are_not_reported() -> None:
    """Endpoints without timings have token counts only."""
    (one,) = read({"usage": {"output_tokens": 24, "input_tokens": 32}})
    assert one.speculation is Speculation.NOT_REPORTED
    assert (one.generated, one.prompt) == (24, 32)


def test_the_last_timings_of_a_choice_count() -> None:
    """A stop word makes two chunks carry timings: never summed."""
    first = {"choices": [{"index": 0}], "timings": {**TIMINGS, "predicted_n": 100}}
    last = {"choices": [{"index": 0, "finish_reason": "stop"}], "timings": TIMINGS}
    assert [one.generated for one in read(first, last)] == [129]


def test_each_choice_has_its_own() -> None:
    """Streams of several outputs report every one."""
    messages = [
        {"choices": [{"index": index}], "timings": TIMINGS | {"predicted_n": 100 + index}}
        for index in (0, 1, 0, 2)
    ]
    assert sorted(one.generated or 0 for one in read(*messages)) == [100, 101, 102]


def test_usage_chunks_replace_the_chunks_of_their_choices() -> None:
    """With timings on every chunk and usage asked for, nothing is counted twice."""
    chunk = {"choices": [{"index": 0}], "timings": {**TIMINGS, "predicted_n": 5}}
    usage = [{"choices": [], "timings": {**TIMINGS, "predicted_n": count}} for count in (129, 130)]
    read_out = read(chunk, usage[0], chunk, usage[1])
    assert [one.generated for one in read_out] == [129, 130]


def test_a_usage_chunk_sent_again_is_no_other_choice() -> None:
    """A resumed stream may repeat what it sent."""
    usage = {"choices": [], "timings": TIMINGS}
    assert len(read(usage, usage)) == 1


def test_several_choices_in_a_body_report_the_first_one() -> None:
    """The others' numbers are missing, and that is said."""
    extract = LlamaCpp().extract([{"choices": [{}, {}], "timings": TIMINGS}])
    assert len(extract.numbers) == 1
    assert extract.unread is Unread.OTHER_CHOICES


def test_a_list_of_native_results() -> None:
    """Several prompts of /completion give a list of objects."""
    assert len(read({"index": 0, "timings": TIMINGS}, {"index": 1, "timings": TIMINGS})) == 2


def test_what_a_fork_adds_does_not_disturb() -> None:
    """Keys that nobody knows, of any type, and nulls in those that are not read."""
    more = {"predicted_per_token_ms": None, "prompt_per_second": "inf", "x": [{"draft_n": 1}]}
    assert read({"timings": {**TIMINGS, **more}}) == read({"timings": TIMINGS})


def test_verbose_is_not_looked_into() -> None:
    """`__verbose` repeats the result and is no second one."""
    (one,) = read({"timings": TIMINGS, "__verbose": {"timings": {"predicted_n": 1}}})
    assert one.generated == 129


@pytest.mark.parametrize("choices", ["x", [None], [[]], {}, [{"index": "0"}], [{"index": []}]])
def test_odd_choices_do_not_hide_the_timings(choices: Any) -> None:
    """Damage around the timings does not lose them."""
    (one,) = read({"choices": choices, "timings": TIMINGS})
    assert one.drafted == 192


@pytest.mark.parametrize("value", ["9", -1, 1e300, [], {}, True])
def test_a_damaged_time(value: Any) -> None:
    """What is no time is named, and is none."""
    (one,) = read({"timings": {**TIMINGS, "predicted_ms": value}})
    assert len(one.inconsistencies) == 1
    assert one.decode_seconds is None


def test_truncated_numbers() -> None:
    """A draft without its accepted tokens is half reported."""
    (one,) = read({"timings": {"predicted_n": 129, "draft_n": 192}})
    assert one.inconsistencies == (Inconsistency.HALF_REPORTED,)
    assert one.generated == 129


@pytest.mark.parametrize("timings", [None, [], "x", 5, {}, {"draft_n": 5}])
def test_timings_that_tell_nothing(timings: Any) -> None:
    """They are as good as none."""
    assert LlamaCpp().extract([{"timings": timings}]).unread is Unread.NO_NUMBERS
