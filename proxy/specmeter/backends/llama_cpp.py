"""llama.cpp's `llama-server`: the `timings` object.

Source: tools/server/server-common.cpp (`server_slot_stats::to_json`) and server-task.cpp of
llama.cpp. Traps: `draft_n` is absent when nothing was drafted; a stop word makes two chunks
carry timings, so the last one per choice counts; `__verbose` repeats a whole result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import orjson

from specmeter.backends.base import Extract, Message
from specmeter.backends.usage import find_usage
from specmeter.reading import RawNumbers
from specmeter.transcript import Unread


class LlamaCpp:
    """Reads `timings`, on every endpoint that has them."""

    name = "llama_cpp"
    markers = (b'"timings"', b'"usage"')
    hides_usage = False

    _BUILD = re.compile(r"b\d+-[0-9a-z]+")

    def recognises(self, message: Message) -> bool:
        """Tell by `timings`, by a fingerprint like `b11434-abc1234`, or by a model's owner."""
        if isinstance(message.get("timings"), dict) or message.get("owned_by") == "llamacpp":
            return True
        fingerprint = message.get("system_fingerprint")
        return isinstance(fingerprint, str) and bool(self._BUILD.fullmatch(fingerprint))

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Take the last timings of each choice; without any, the API's token counts."""
        timings = _last_timings(messages)
        if not timings:
            usage = find_usage(messages)
            if usage is None:
                return Extract(unread=Unread.NO_NUMBERS)
            counts = RawNumbers(usage.generated, usage.prompt, usage.cached_prompt)
            return Extract((counts,))
        numbers = tuple(_numbers(item) for item in timings)
        if any(str(message.get("object")).startswith("chat.") for message in messages):
            # The choices of a chat share one prompt, though each of them tells its numbers.
            numbers = (numbers[0], *(_sharing_prompt(one) for one in numbers[1:]))
        choices = messages[-1].get("choices")
        # Several choices in one body: the server reports the first one's numbers only.
        lone = len(messages) == 1 and isinstance(choices, list) and len(choices) > 1
        return Extract(numbers, Unread.OTHER_CHOICES if lone else None)


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


def _last_timings(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return one `timings` object a choice."""
    by_choice: dict[int | None, dict[str, Any]] = {}
    after_choices: list[dict[str, Any]] = []
    for message in messages:
        timings = message.get("timings")
        if not isinstance(timings, dict):
            continue
        choices = message.get("choices")
        if choices == []:
            after_choices.append(timings)  # the usage chunk that follows a choice's last one
        else:
            lone = choices[0] if isinstance(choices, list) else message
            index = lone.get("index") if isinstance(lone, dict) else None
            by_choice[index if isinstance(index, int) else None] = timings
    return after_choices or list(by_choice.values())


def _numbers(timings: dict[str, Any]) -> RawNumbers:
    drafted, accepted = timings.get("draft_n"), timings.get("draft_n_accepted")
    if drafted is None and accepted is None:
        drafted = accepted = 0  # the server leaves both out when nothing was drafted
    return RawNumbers(
        generated=timings.get("predicted_n"),
        prompt=_prompt(timings),
        cached_prompt=timings.get("cache_n"),
        drafted=drafted,
        accepted=accepted,
        decode_milliseconds=timings.get("predicted_ms"),
    )


def _sharing_prompt(numbers: RawNumbers) -> RawNumbers:
    return msgspec.structs.replace(numbers, shares_prompt=True)


def _prompt(timings: dict[str, Any]) -> Any:
    """Return the whole prompt's tokens: `prompt_n` counts only those not found in the cache."""
    processed, cached = timings.get("prompt_n"), timings.get("cache_n")
    if type(processed) is int and type(cached) is int:
        return processed + cached
    return processed
