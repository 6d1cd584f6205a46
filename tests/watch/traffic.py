"""Traffic for panels and alerts: what drafts well, and what does not."""

from __future__ import annotations

from typing import Any

from tests.real.requests import CODE, COLOURS, chat, text

_SUBJECTS = ("a lighthouse", "an old clock", "two friends", "a rainy market", "a lost letter")


def repetitive(turn: int, tokens: int) -> dict[str, Any]:
    """Return a request for a text that goes on repeating itself: n-gram drafters like it."""
    return text(COLOURS[: -6 * (turn % 3) or None], max_tokens=tokens, ignore_eos=True)


def repeated_code(turn: int) -> dict[str, Any]:
    """Return a message that asks for repetition; what was drafted for it only the log tells."""
    return chat(f"Repeat this code ten times:\n\n{CODE}# {turn % 2}", max_tokens=80)


def surprising(turn: int, tokens: int) -> dict[str, Any]:
    """Return a request for a text in which no guess is safe, so that drafts are mostly wasted."""
    return varied(turn, tokens) | {"temperature": 1.5, "seed": turn}


def varied(turn: int, tokens: int) -> dict[str, Any]:
    """Return a request for a story."""
    subject = _SUBJECTS[turn % len(_SUBJECTS)]
    return text(f"A story about {subject}:\n", max_tokens=tokens, ignore_eos=True)
