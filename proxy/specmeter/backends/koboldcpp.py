"""KoboldCpp: nothing of drafting in its answers; a page of its own tells of the last generation.

Source: koboldcpp.py and expose.cpp of KoboldCpp. Its OpenAI endpoints give usage, its own the token
counts of the result, and those that imitate Ollama's give counts without times.
`GET /api/extra/perf` has the drafts and the time of whatever was generated last, so it says
something of a request only if no other ended since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specmeter.backends.base import Extract, Message
from specmeter.backends.counts import scaled, total
from specmeter.backends.ollama import Ollama
from specmeter.reading import RawNumbers

PERF_PATH = "/api/extra/perf"


class KoboldCpp(Ollama):
    """Reads token counts."""

    name = "koboldcpp"
    markers = (*Ollama.markers, b'"results"')

    def recognises(self, message: Message) -> bool:
        """Tell by a model's owner, or by the results of its own API."""
        return message.get("owned_by") == "koboldcpp" or _result(message) is not None

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Take the token counts of the result, or what the imitated APIs give."""
        for message in reversed(messages):
            result = _result(message)
            if result is not None and "completion_tokens" in result:
                counts = RawNumbers(result["completion_tokens"], result.get("prompt_tokens"))
                return Extract((counts,))
        return super().extract(messages)


def read_perf(page: Message) -> RawNumbers | None:
    """Read the page's last generation; `None` if there was none, or it is no such page."""
    generated = page.get("last_token_count")
    if not generated or not page.get("total_gens"):
        return None
    accepted, rejected = page.get("last_draft_success"), page.get("last_draft_failed")
    known = accepted is not None and rejected is not None
    return RawNumbers(
        generated=generated,
        prompt=page.get("last_input_count"),
        drafted=total((accepted, rejected)) if known else rejected,
        accepted=accepted,
        decode_milliseconds=scaled(page.get("last_eval_time"), 1000),
    )


def _result(message: Message) -> dict[str, Any] | None:
    results = message.get("results")
    first = results[0] if isinstance(results, list) and results else None
    return first if isinstance(first, dict) and "text" in first else None
