"""Ollama: counts and durations, nothing of drafting."""

from typing import Any

import pytest

from specmeter.backends.ollama import Ollama
from specmeter.reading import Inconsistency, Reading, Speculation, check
from specmeter.unread import Unread
from tests.examples.example import USAGE
from tests.examples.local import EVALUATION, ollama_chat, ollama_generate


def read(*messages: dict[str, Any]) -> Reading:
    (numbers,) = Ollama().extract(messages).numbers
    return check(numbers)


@pytest.mark.parametrize("make", [ollama_chat, ollama_generate])
def test_the_last_document_has_the_numbers(make: Any) -> None:
    """Durations are nanoseconds, and drafting is not reported."""
    one = read(make("a"), make("b"), make("", **EVALUATION))
    assert (one.generated, one.prompt, one.decode_seconds) == (129, 41, 1.6)
    assert one.seconds_per_token == pytest.approx(0.0125)
    assert one.speculation is Speculation.NOT_REPORTED
    assert one.target_steps is None


def test_a_prompt_that_was_in_the_cache() -> None:
    """Its count is missing then, and unknown."""
    evaluation = {key: value for key, value in EVALUATION.items() if key != "prompt_eval_count"}
    assert read(ollama_chat("", **evaluation)).prompt is None


def test_an_imitation_has_no_time() -> None:
    """KoboldCpp answers in this form, and calls every duration 1."""
    one = read(ollama_generate("a", **{**EVALUATION, "eval_duration": 1}))
    assert (one.generated, one.decode_seconds) == (129, None)
    assert one.inconsistencies == ()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("x", Inconsistency.WRONG_TYPE),
        ([], Inconsistency.WRONG_TYPE),
        (-5, Inconsistency.NEGATIVE),
        (10**25, Inconsistency.TOO_LARGE),
        (10**400, Inconsistency.TOO_LARGE),
        (1e300, Inconsistency.TOO_LARGE),
    ],
)
def test_a_damaged_duration(value: Any, reason: Inconsistency) -> None:
    """It is named, and the counts stand."""
    one = read(ollama_chat("", **{**EVALUATION, "eval_duration": value}))
    assert one.inconsistencies == (reason,)
    assert (one.generated, one.decode_seconds) == (129, None)


def test_the_openai_endpoints_have_usage() -> None:
    """Three plain counts."""
    one = read({"system_fingerprint": "fp_ollama", "usage": USAGE})
    assert (one.generated, one.prompt, one.decode_seconds) == (129, 41, None)


def test_a_model_that_was_only_loaded() -> None:
    """An empty prompt loads the model, and generates nothing."""
    loaded = ollama_generate("", done=True, done_reason="load")
    assert Ollama().extract([loaded]).unread is Unread.NO_NUMBERS
