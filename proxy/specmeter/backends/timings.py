"""The `timings` object, which llama.cpp gave to the world.

Source: tools/server/server-common.cpp (`server_slot_stats::to_json`) of llama.cpp. Traps:
`draft_n` is absent when nothing was drafted; a stop word makes two chunks carry timings, so the
last one per choice counts; `__verbose` repeats a whole result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specmeter.backends.counts import total
from specmeter.reading import RawNumbers

Timings = dict[str, Any]


def timings_of(message: dict[str, Any]) -> Timings:
    """Return a message's timings, empty if it has none."""
    timings = message.get("timings")
    return timings if isinstance(timings, dict) else {}


def last_timings(messages: Sequence[dict[str, Any]]) -> list[Timings]:
    """Return one `timings` object a choice: the last one that says how much was generated."""
    if len(messages) == 1:
        timings = timings_of(messages[0])
        return [timings] if "predicted_n" in timings else []
    by_choice: dict[int | None, Timings] = {}
    after_choices: list[Timings] = []
    for message in messages:
        timings = timings_of(message)
        if "predicted_n" not in timings:
            continue  # a speed alone, as mlx-vlm gives it on the way
        if message.get("choices") == []:  # the usage chunk that follows a choice's last one
            if timings not in after_choices:  # sent again, it is no other choice's
                after_choices.append(timings)
        else:
            by_choice[_index(message)] = timings
    return after_choices or list(by_choice.values())


def read_timings(timings: Timings) -> RawNumbers:
    """Read one object; without draft fields nothing was drafted."""
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


def _index(message: dict[str, Any]) -> int | None:
    """Return which output a message belongs to; an event with a type has an index of its own."""
    if "type" in message:
        return None
    choices = message.get("choices")
    lone = choices[0] if isinstance(choices, list) else message
    index = lone.get("index") if isinstance(lone, dict) else None
    return index if isinstance(index, int) else None


def _prompt(timings: Timings) -> Any:
    """Return the whole prompt's tokens: `prompt_n` counts only those not found in the cache."""
    processed, cached = timings.get("prompt_n"), timings.get("cache_n")
    return processed if processed is None else total((processed, cached))
