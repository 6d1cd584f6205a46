"""llama.cpp's `llama-server`, all builds since March 2025, also as a router.

Source: tools/server/server-task.cpp of llama.cpp. Streams carry the timings on the chunk that
finishes, or on the usage chunk behind it, as build and request have it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import orjson
from msgspec.structs import replace

from specmeter.backends.base import Extract, Message
from specmeter.backends.injection import (
    CHAT,
    COMPLETIONS,
    Asked,
    Habits,
    Injection,
    Request,
    Undo,
)
from specmeter.backends.timings import Timings, last_timings, read_timings
from specmeter.backends.usage import find_usage
from specmeter.reading import RawNumbers
from specmeter.unread import Unread


class LlamaCppInjection:
    """Asks for timings on every chunk, so that a stream its client leaves has told its numbers.

    Not on the native endpoints: their last chunk repeats the request's settings, the addition
    among them.
    """

    endpoints = frozenset((CHAT, COMPLETIONS, "/v1/responses", "/chat/completions", "/responses"))

    def may_ask(self, habits: Habits) -> bool:
        """Only where streams that their client leaves are wanted."""
        return habits.meter_cancelled

    def ask(self, endpoint: str, request: Request, habits: Habits) -> Asked | None:  # noqa: ARG002
        """Ask a stream that does not ask itself, where that is wanted."""
        if not habits.meter_cancelled or request.get("stream") is not True:
            return None
        if request.get("timings_per_token") not in (None, False):
            return None
        return Asked({"timings_per_token": True}, Undo(running_timings=True))


class LlamaCpp:
    """Reads `timings`, on every endpoint that has them."""

    name = "llama_cpp"
    markers: tuple[bytes, ...] = (b'"timings"', b'"usage"')
    injection: Injection | None = LlamaCppInjection()

    _BUILD = re.compile(r"b\d+-[0-9a-z]+")

    def recognises(self, message: Message) -> bool:
        """Tell by `timings`, by a fingerprint like `b11434-abc1234`, or by a model's owner.

        Other servers have copied all three, and are asked before.
        """
        if isinstance(message.get("timings"), dict) or message.get("owned_by") == "llamacpp":
            return True
        fingerprint = message.get("system_fingerprint")
        return isinstance(fingerprint, str) and bool(self._BUILD.fullmatch(fingerprint))

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Take the last timings of each choice; without any, the API's token counts."""
        timings = last_timings(messages)
        if not timings:
            return self._without_timings(messages)
        numbers = tuple(map(self._read, timings))
        if len(numbers) > 1 and any(
            str(message.get("object")).startswith("chat.") for message in messages
        ):
            # The choices of a chat share one prompt, though each of them tells its numbers.
            numbers = (numbers[0], *(replace(one, shares_prompt=True) for one in numbers[1:]))
        choices = messages[-1].get("choices")
        # Several choices in one body: the server reports the first one's numbers only.
        lone = len(messages) == 1 and isinstance(choices, list) and len(choices) > 1
        return Extract(numbers, Unread.OTHER_CHOICES if lone else None)

    def _read(self, timings: Timings) -> RawNumbers:
        return read_timings(timings)

    def _without_timings(self, messages: Sequence[Message]) -> Extract:
        usage = find_usage(messages)
        if usage is None:
            return Extract(unread=Unread.NO_NUMBERS)
        return Extract((RawNumbers(usage.generated, usage.prompt, usage.cached_prompt),))


def slots_speculate(page: bytes) -> bool | None:
    """Return whether a `/slots` page says that speculation is configured; `None` if it does not."""
    try:
        slots = orjson.loads(page)
    except orjson.JSONDecodeError:
        return None
    flags = [
        slot["speculative"]
        for slot in (slots if isinstance(slots, list) else ())
        if isinstance(slot, dict) and isinstance(slot.get("speculative"), bool)
    ]
    return any(flags) if flags else None
