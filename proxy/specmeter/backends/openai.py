"""Any other OpenAI-compatible server: token counts only, drafting not reported."""

from __future__ import annotations

from collections.abc import Sequence

from specmeter.backends.base import Extract, Message
from specmeter.backends.choices import choice_count
from specmeter.backends.usage import find_usage
from specmeter.reading import RawNumbers
from specmeter.unread import Unread


class OpenAI:
    """Reads `usage`, which says nothing of drafting.

    `completion_tokens_details.accepted_prediction_tokens` belongs to OpenAI's predicted outputs
    and is not speculation.
    """

    name = "openai"
    markers: tuple[bytes, ...] = (b'"usage"',)
    injection = None

    def recognises(self, message: Message) -> bool:  # noqa: ARG002 - it is what is left over
        """Nothing tells this kind from the others."""
        return False

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Take the last usage."""
        usage = find_usage(messages)
        if usage is None:
            return Extract(unread=Unread.NO_NUMBERS)
        counts = RawNumbers(
            usage.generated,
            usage.prompt,
            usage.cached_prompt,
            sequences=choice_count(messages[-1]),
        )
        return Extract((counts,))
