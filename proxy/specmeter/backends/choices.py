"""The choices of OpenAI's completions, in a body or over a stream's chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Choice = dict[str, Any]
Found = TypeVar("Found")


def choice_count(body: dict[str, Any]) -> int:
    """Return how many choices a body has (>= 1), whose tokens its usage sums up."""
    choices = body.get("choices")
    return max(len(choices), 1) if isinstance(choices, list) else 1


def each_choice(message: dict[str, Any]) -> Iterator[tuple[int, Choice]]:
    """Yield the choices of a message with their index; where they give none, their place."""
    choices = message.get("choices")
    if not isinstance(choices, list):
        return
    for place, choice in enumerate(choices):
        if isinstance(choice, dict):
            index = choice.get("index")
            yield (index if isinstance(index, int) else place), choice


def has_other_choice(message: dict[str, Any]) -> bool:
    """Return whether a message brings a choice that says it is not the first."""
    choices = message.get("choices")
    return isinstance(choices, list) and any(
        isinstance(choice, dict) and choice.get("index") not in (0, None) for choice in choices
    )


def last_of_each(
    messages: Iterable[dict[str, Any]], find: Callable[[Choice], Found | None]
) -> list[Found]:
    """Return the last thing that is found in each choice that has any, in order of the choices."""
    found: dict[int, Found] = {}
    for message in messages:
        for index, choice in each_choice(message):
            if (thing := find(choice)) is not None:
                found[index] = thing
    return [found[index] for index in sorted(found)]
