"""vLLM: `metrics.speculative_decoding` beside the usage, and the shapes that came before it.

Source: docs/features/per_request_metrics.md and speculative_decoding/acceptance_metrics.md of
vLLM. Needs `--per-request-spec-decode-metrics`, and `--enable-per-request-metrics` for the decode
time. Streams carry both only on the usage chunk. `null` means off, or several choices.

The first draft of that feature (pull request 48915), which forks have, puts the numbers into each
choice as `speculative_decoding_stats`, with the histogram as an object; another (47322) puts them
under that name beside the choices, with rates per position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specmeter.backends.base import Extract, Message
from specmeter.backends.choices import Choice, each_choice, last_of_each
from specmeter.backends.completion import read_completion
from specmeter.backends.counts import Drafts, read_drafting
from specmeter.backends.injection import (
    CHAT,
    COMPLETIONS,
    Asked,
    Habits,
    Request,
    Undo,
    has_several_outputs,
    usage_options,
)

_STATS = "speculative_decoding_stats"
_NAMES = (
    *("num_draft_tokens", "num_accepted_draft_tokens"),
    *("num_spec_steps", "acceptance_histogram"),
)
_MANY_ROUNDS = 1_000_000
_ROUNDING = 0.01
"""How far from a whole number a rate times the rounds may be."""


class VllmInjection:
    """Asks for a stream's usage: without it the server reports nothing.

    With usage on every chunk where that is wanted. Only of chat completions: some versions write
    `"usage":null` into every chunk of a text completion, others nothing, and a chunk that has
    usage does not tell which.
    """

    endpoints = frozenset((CHAT, COMPLETIONS))

    def may_ask(self, habits: Habits) -> bool:  # noqa: ARG002
        """Any request may not ask itself."""
        return True

    def ask(self, endpoint: str, request: Request, habits: Habits) -> Asked | None:
        """Ask a stream of one output that does not ask itself."""
        options = usage_options(request)
        if options is None or has_several_outputs(request):
            return None
        if options.get("continuous_usage_stats"):
            return None
        running = habits.running_usage and endpoint == CHAT
        asks_itself = bool(options.get("include_usage"))
        if asks_itself and not running:
            return None
        options = {**options, "include_usage": True}
        if running:
            options["continuous_usage_stats"] = True
        undo = Undo(
            usage_chunk=not asks_itself,
            fingerprint_moves=not asks_itself,
            running_usage=running,
        )
        return Asked({"stream_options": options}, undo)


class Vllm:
    """Reads the per-request metrics."""

    name = "vllm"
    markers: tuple[bytes, ...] = (b'"usage"', b'"metrics"', b'"speculative_decoding_stats"')
    injection = VllmInjection()

    def recognises(self, message: Message) -> bool:
        """Tell by a fingerprint like `vllm-0.32.0-1adf2225`, its metrics, or a model's owner."""
        fingerprint = message.get("system_fingerprint")
        if isinstance(fingerprint, str) and fingerprint.startswith("vllm-"):
            return True
        if message.get("owned_by") == "vllm" or _STATS in message:
            return True
        if "speculative_decoding" in (_metrics(message) or {}):
            return True
        return any(_STATS in choice for _, choice in each_choice(message))

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Take the last metrics and the last usage; the counts of several choices are one sum."""
        metrics = next((m for m in map(_metrics, reversed(messages)) if m is not None), {})
        return read_completion(
            messages,
            _outputs(messages, metrics),
            decode_milliseconds=metrics.get("generation_time_ms"),
        )


def _outputs(messages: Sequence[Message], metrics: dict[str, Any]) -> list[Drafts]:
    """Return what was drafted for each output that says so."""
    whole = metrics.get("speculative_decoding")
    if isinstance(whole, dict):
        return [_read(whole)]
    for message in reversed(messages):
        if isinstance(stats := message.get(_STATS), dict):
            return [_read(stats)]
    return [_read(stats) for stats in last_of_each(messages, _stats_of)]


def _stats_of(choice: Choice) -> dict[str, Any] | None:
    stats = choice.get(_STATS)
    return stats if isinstance(stats, dict) else None


def _metrics(message: Message) -> dict[str, Any] | None:
    for holder in (message, message.get("response")):
        if isinstance(holder, dict) and isinstance(found := holder.get("metrics"), dict):
            return found
    return None


def _read(stats: dict[str, Any]) -> Drafts:
    if "num_draft_steps" in stats or "num_drafted_tokens" in stats:
        rounds = stats.get("num_draft_steps")
        return Drafts(
            stats.get("num_drafted_tokens"),
            stats.get("num_accepted_tokens"),
            rounds,
            _from_rates(stats.get("per_position_acceptance_rates"), rounds),
        )
    return read_drafting(stats, *_NAMES)


def _from_rates(rates: Any, rounds: Any) -> Any:
    """Turn rates per position back into the counts they were made of, if they tell them."""
    if not isinstance(rates, list) or type(rounds) is not int or not 0 <= rounds < _MANY_ROUNDS:
        return None
    counts = []
    for rate in rates:
        if type(rate) not in (int, float) or not 0 <= rate <= 1:
            return None
        counts.append(round(rate * rounds))
        if abs(counts[-1] - rate * rounds) > _ROUNDING:
            return None
    return counts
