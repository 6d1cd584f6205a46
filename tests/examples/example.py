"""What an example of an answer is, and the numbers that most of them have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.answers import Message, lines, stream

Path = tuple[str | int, ...]
"""Keys and places that lead to a value: the first one is a message's."""

FRAMING: dict[str, Callable[..., bytes]] = {
    "body": orjson.dumps,
    "events": stream,
    "lines": lines,
}


@dataclass(frozen=True)
class Example:
    """One answer."""

    kind: str
    name: str
    form: str
    """`body`, `events` or `lines`."""
    messages: tuple[Message, ...]
    counts: tuple[Path, ...]
    """Where a whole number stands that becomes part of the reading."""
    says: dict[str, Any] = field(hash=False)
    """Attributes of its reading."""

    @property
    def raw(self) -> bytes:
        return self.framed(self.messages)

    def framed(self, messages: tuple[Message, ...]) -> bytes:
        """Return these messages in the form of this answer."""
        return FRAMING[self.form](*messages)

    def __str__(self) -> str:
        return f"{self.kind}-{self.name}"


def paths(at: int, *keys: str | int, names: str) -> tuple[Path, ...]:
    """Return the paths of several names below the same keys."""
    return tuple((at, *keys, name) for name in names.split())


USAGE = {"prompt_tokens": 41, "completion_tokens": 129, "total_tokens": 170}
USAGE_NAMES = "prompt_tokens completion_tokens"
TOKENS = {"generated": 129, "prompt": 41}
DRAFTED = {**TOKENS, "drafted": 192, "accepted": 64, "target_steps": 65}
ROUNDS = {**DRAFTED, "rounds": 64, "accepted_per_position": (40, 17, 7)}
UNKNOWN = {"drafted": None, "accepted": None, "target_steps": None}
