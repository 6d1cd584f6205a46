"""TensorRT-LLM's `trtllm-serve`: numbers in each choice.

Source: tensorrt_llm/serve/openai_protocol.py. `avg_decoded_tokens_per_iter` is the tokens of an
output per iteration, the one that reads the prompt included. `speculative_decoding` is pull request
19311, open when this was written: the shape may change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from specmeter.backends.base import Extract, Message
from specmeter.backends.choices import Choice, each_choice, last_of_each
from specmeter.backends.completion import read_completion
from specmeter.backends.counts import NOTHING_KNOWN, read_drafting
from specmeter.backends.usage import find_usage

_AVERAGE = "avg_decoded_tokens_per_iter"
_SPECULATIVE = "speculative_decoding"
_NAMES = (
    *("total_draft_tokens", "total_accepted_draft_tokens"),
    *("num_spec_steps", "acceptance_histogram"),
)


class TrtLlm:
    """Reads each choice's drafting and average."""

    name = "trtllm"
    markers: tuple[bytes, ...] = (
        b'"usage"',
        b'"avg_decoded_tokens_per_iter"',
        b'"speculative_decoding"',
    )
    injection = None

    def recognises(self, message: Message) -> bool:
        """Tell by what only its choices have, or by a model's owner."""
        if message.get("owned_by") == "tensorrt_llm":
            return True
        return any(
            _AVERAGE in choice or _SPECULATIVE in choice for _, choice in each_choice(message)
        )

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Take the last numbers of each choice, and the usage, which is their sum."""
        drafts = last_of_each(messages, _speculative)
        outputs = [read_drafting(one, *_NAMES) for one in drafts]
        averages = last_of_each(messages, _average)
        if len(averages) == 1 and len(outputs) < 2:  # noqa: PLR2004 - of several, no sum is known
            usage = find_usage(messages)
            steps = _steps(usage.generated if usage else None, averages[0])
            outputs = [replace(outputs[0] if outputs else NOTHING_KNOWN, steps=steps)]
        return read_completion(messages, outputs)


def _speculative(choice: Choice) -> dict[str, Any] | None:
    found = choice.get(_SPECULATIVE)
    return found if isinstance(found, dict) else None


def _average(choice: Choice) -> Any:
    return choice.get(_AVERAGE)


def _steps(generated: Any, average: Any) -> Any:
    """Return the iterations whose average this is; one that cannot be is found by the checks."""
    if type(average) not in (int, float):
        return average
    if average == 0 or type(generated) is not int:
        return None
    return round(generated / average) if 1 <= average <= generated else average
