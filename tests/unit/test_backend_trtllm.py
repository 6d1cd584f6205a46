"""TensorRT-LLM: numbers in each choice."""

from typing import Any

import pytest

from specmeter.backends.trtllm import TrtLlm
from specmeter.reading import Reading, Speculation, check
from specmeter.unread import Unread
from tests.answers import chat, chunk, finish, last
from tests.examples.example import USAGE
from tests.examples.others import TRT_SPECULATIVE


def read(*messages: dict[str, Any]) -> Reading:
    (numbers,) = TrtLlm().extract(messages).numbers
    return check(numbers)


def average(value: Any, generated: Any = 129) -> Reading:
    usage = {"prompt_tokens": 41, "completion_tokens": generated}
    return read(chat({"avg_decoded_tokens_per_iter": value}, usage=usage))


@pytest.mark.parametrize(
    ("generated", "steps"), [(129, 65), (129, 129), (1, 1), (512, 36), (100_000, 33_334)]
)
def test_the_average_tells_the_steps(generated: int, steps: int) -> None:
    """Whole iterations come out also of an average that has only 24 bits."""
    exact = generated / steps
    for value in (exact, exact * (1 + 2**-24), exact * (1 - 2**-24)):
        if 1 <= value <= generated:
            one = average(value, generated)
            assert (one.steps, one.target_steps) == (steps, steps)
            assert one.inconsistencies == ()


def test_an_average_says_nothing_of_drafts() -> None:
    """One token an iteration may be a drafter that is never right."""
    one = average(1.0)
    assert one.speculation is Speculation.NOT_REPORTED
    assert one.output_per_step == 1.0


@pytest.mark.parametrize("value", [None, 0, 0.0])
def test_no_average(value: Any) -> None:
    """Null and 0 are what the server writes where it did not count."""
    one = average(value)
    assert (one.steps, one.inconsistencies) == (None, ())


@pytest.mark.parametrize("value", ["x", True, [], -1, -2.5, 0.5, 1000, 1e300])
def test_an_average_that_cannot_be(value: Any) -> None:
    """It is named, and no steps follow from it."""
    one = average(value)
    assert one.inconsistencies
    assert one.steps is None


def test_several_choices() -> None:
    """Their drafts are added up; their averages tell nothing of the sum."""
    choice = {"speculative_decoding": TRT_SPECULATIVE, "avg_decoded_tokens_per_iter": 2.0}
    usage = {"prompt_tokens": 41, "completion_tokens": 258}
    one = read(chat(choice, choice, usage=usage))
    assert (one.drafted, one.accepted, one.steps, one.sequences) == (384, 128, None, 2)


def test_the_last_chunk_of_a_choice_counts() -> None:
    """A stream repeats and corrects."""
    early = {**TRT_SPECULATIVE, "total_accepted_draft_tokens": 1}
    first = {**chunk("a")}
    first["choices"] = [{"index": 0, "speculative_decoding": early}]
    one = read(first, finish(speculative_decoding=TRT_SPECULATIVE), last(usage=USAGE))
    assert one.accepted == 64


@pytest.mark.parametrize("damaged", ["x", 5, [], None])
def test_drafts_that_are_none(damaged: Any) -> None:
    """They are as good as absent."""
    one = read(chat({"speculative_decoding": damaged}, usage=USAGE))
    assert one.speculation is Speculation.NOT_REPORTED


def test_no_numbers() -> None:
    """Nothing is made up."""
    assert TrtLlm().extract([{"choices": [{}]}]).unread is Unread.NO_NUMBERS
