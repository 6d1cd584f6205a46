"""Prompts of a wanted length, which differ from the first word on.

What a prompt says does not matter to a server that does not speculate; how long it is does. Those
of one stream begin alike, so that a server's prompt cache spares reading them again and again.
Those of different streams share nothing: some servers decode faster where prompts do.
"""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import msgspec

_SYLLABLES = ("ba", "den", "fi", "gor", "ha", "kel", "lu", "mi", "no", "pra", "sto", "ver")
_LONGEST_WORD = 3
_TASK = "Go on with this list of made-up words, for as long as you can: "


class Calibration(msgspec.Struct, frozen=True):
    """How words become tokens at one server."""

    tokens_at_all: float
    """Of the task and the chat template."""
    tokens_per_word: float

    @classmethod
    def of(cls, few: tuple[int, int], many: tuple[int, int]) -> Calibration:
        """Draw a line through two prompts, each given by its words and its tokens.

        Raises:
            ValueError: Tokens do not grow with words.
        """
        slope = (many[1] - few[1]) / (many[0] - few[0])
        if slope <= 0:
            raise ValueError("more words are no more tokens")
        return cls(few[1] - slope * few[0], slope)

    def words(self, tokens: float) -> int:
        """Return how many words make a prompt of so many tokens (>= 1)."""
        return max(round((tokens - self.tokens_at_all) / self.tokens_per_word), 1)

    @property
    def least(self) -> float:
        """Tokens of the shortest prompt."""
        return self.tokens_at_all + self.tokens_per_word


def messages(stream: int, words: int) -> list[dict[str, Any]]:
    """Return a prompt of so many words; the same for the same stream, but for its end."""
    dice = random.Random(stream)  # noqa: S311 - the same words each time are wanted
    text = " ".join(islice(iter(lambda: _word(dice), ""), words))
    return [{"role": "user", "content": f"{_number(stream)}{_TASK}{text}"}]


def _number(stream: int) -> str:
    return f"List {stream + 1}. "


def _word(dice: random.Random) -> str:
    return "".join(dice.choices(_SYLLABLES, k=dice.randint(1, _LONGEST_WORD)))
