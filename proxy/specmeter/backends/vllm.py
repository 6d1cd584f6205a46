"""vLLM: `metrics.speculative_decoding` beside the usage.

Source: docs/features/per_request_metrics.md and speculative_decoding/acceptance_metrics.md of
vLLM. Needs `--per-request-spec-decode-metrics`, and `--enable-per-request-metrics` for the decode
time. Streams carry both only on the usage chunk. `null` means off, or several choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from specmeter.backends.base import Extract, Message
from specmeter.backends.usage import choice_count, find_usage
from specmeter.reading import RawNumbers
from specmeter.transcript import Unread


class Vllm:
    """Reads the per-request metrics of the current shape."""

    name = "vllm"
    markers = (b'"usage"', b'"metrics"')
    hides_usage = True

    def recognises(self, message: Message) -> bool:
        """Tell by a fingerprint like `vllm-0.32.0-1adf2225`, its metrics, or a model's owner."""
        fingerprint = message.get("system_fingerprint")
        if isinstance(fingerprint, str) and fingerprint.startswith("vllm-"):
            return True
        metrics = _metrics(message) or {}
        return message.get("owned_by") == "vllm" or "speculative_decoding" in metrics

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Take the last metrics and the last usage; the counts of several choices are one sum."""
        usage = find_usage(messages)
        metrics = next((m for m in map(_metrics, reversed(messages)) if m is not None), {})
        if usage is None and not metrics:
            return Extract(unread=Unread.NO_NUMBERS)
        speculative = metrics.get("speculative_decoding")
        numbers = speculative if isinstance(speculative, dict) else {}
        return Extract(
            (
                RawNumbers(
                    generated=usage.generated if usage else None,
                    prompt=usage.prompt if usage else None,
                    cached_prompt=usage.cached_prompt if usage else None,
                    drafted=numbers.get("num_draft_tokens"),
                    accepted=numbers.get("num_accepted_draft_tokens"),
                    rounds=numbers.get("num_spec_steps"),
                    accepted_per_position=_per_position(numbers.get("acceptance_histogram")),
                    decode_milliseconds=metrics.get("generation_time_ms"),
                    sequences=choice_count(messages[-1]),
                ),
            )
        )


def _metrics(message: Message) -> dict[str, Any] | None:
    for holder in (message, message.get("response")):
        if isinstance(holder, dict) and isinstance(found := holder.get("metrics"), dict):
            return found
    return None


def _per_position(histogram: Any) -> Any:
    """Turn "rounds with exactly j accepted" into "rounds that accepted position i" (i < j)."""
    if histogram == []:
        return None
    if not isinstance(histogram, list) or not all(
        type(rounds) is int and rounds >= 0 for rounds in histogram
    ):
        return histogram  # found wrong by the checks
    at_least = list(accumulate(reversed(histogram)))[::-1]
    return at_least[1:]
