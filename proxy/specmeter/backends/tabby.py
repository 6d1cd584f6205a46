"""TabbyAPI on exllamav3: counters in `usage`, and maybe llama.cpp's `timings`.

Source: endpoints/OAI/types/common.py of TabbyAPI. Its usage reports drafting in the fields of
OpenAI's predicted outputs, 0 without a drafter (pull request 452, merged August 2026). The timings
(pull request 478, open when this was written) have the same numbers, for one output only.
"""

from __future__ import annotations

from collections.abc import Sequence

from specmeter.backends.base import Extract, Message
from specmeter.backends.choices import choice_count
from specmeter.backends.counts import scaled, total
from specmeter.backends.llama_cpp import LlamaCpp
from specmeter.backends.usage import find_usage, last_usage_object
from specmeter.reading import RawNumbers
from specmeter.unread import Unread


class Tabby(LlamaCpp):
    """Reads `timings`, or else what `usage` says of drafts and time."""

    name = "tabby"
    injection = None

    def recognises(self, message: Message) -> bool:
        """Tell by a model's owner, or by a usage with its own speed."""
        if message.get("owned_by") == "tabbyAPI":
            return True
        usage = message.get("usage")
        return isinstance(usage, dict) and "completion_tokens_per_sec" in usage

    def _without_timings(self, messages: Sequence[Message]) -> Extract:
        usage, raw = find_usage(messages), last_usage_object(messages)
        if usage is None or raw is None:
            return Extract(unread=Unread.NO_NUMBERS)
        details = raw.get("completion_tokens_details")
        drafts = details if isinstance(details, dict) else {}
        accepted = drafts.get("accepted_prediction_tokens")
        rejected = drafts.get("rejected_prediction_tokens")
        known = accepted is not None and rejected is not None
        numbers = RawNumbers(
            generated=usage.generated,
            prompt=usage.prompt,
            cached_prompt=usage.cached_prompt,
            drafted=total((accepted, rejected)) if known else rejected,
            accepted=accepted,
            decode_milliseconds=scaled(raw.get("completion_time"), 1000),
            sequences=choice_count(messages[-1]),
        )
        return Extract((numbers,))
