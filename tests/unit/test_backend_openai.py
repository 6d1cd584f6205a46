"""Token counts of the three APIs, whatever server is behind."""

from typing import Any

import pytest

from specmeter.backends.openai import OpenAI
from specmeter.backends.usage import find_usage
from specmeter.reading import Inconsistency, Speculation, check
from tests.examples.example import USAGE


def test_anthropic_counts_the_cache_apart() -> None:
    """The whole prompt is what was read plus what was found in the cache and written to it."""
    start = {"message": {"usage": {"input_tokens": 1, "cache_read_input_tokens": 31}}}
    usage = find_usage([start, {"usage": {"output_tokens": 24}}])
    assert usage is not None
    assert (usage.generated, usage.prompt, usage.cached_prompt) == (24, 32, 31)


def test_cached_tokens_of_the_other_two() -> None:
    """OpenAI's counts include what was cached."""
    chat = find_usage([{"usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 7}}}])
    assert chat is not None
    assert (chat.generated, chat.prompt, chat.cached_prompt) == (129, 41, 7)


def test_predictions_are_no_drafts() -> None:
    """OpenAI's predicted outputs are not speculation."""
    details = {"accepted_prediction_tokens": 5, "rejected_prediction_tokens": 1}
    body = {"usage": {**USAGE, "completion_tokens_details": details}}
    (numbers,) = OpenAI().extract([body]).numbers
    assert check(numbers).speculation is Speculation.NOT_REPORTED


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"input_tokens": "x"}, Inconsistency.WRONG_TYPE),
        ({"input_tokens": True}, Inconsistency.WRONG_TYPE),
        ({"input_tokens": -1}, Inconsistency.NEGATIVE),
    ],
)
def test_odd_counts_are_found_by_the_checks(parts: dict[str, Any], reason: Inconsistency) -> None:
    """What is no count is not added up, but named."""
    usage = {"output_tokens": 5, "cache_read_input_tokens": 3, **parts}
    (numbers,) = OpenAI().extract([{"usage": usage}]).numbers
    one = check(numbers)
    assert one.inconsistencies == (reason,)
    assert (one.prompt, one.generated) == (None, 5)


@pytest.mark.parametrize("body", [{}, {"usage": None}, {"usage": []}, {"response": 5}])
def test_no_usage(body: dict[str, Any]) -> None:
    """Nothing is made up."""
    assert find_usage([body]) is None
