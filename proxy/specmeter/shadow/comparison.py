"""Are two outputs the same, and if not, up to where?"""

from __future__ import annotations

import msgspec


class Comparison(msgspec.Struct, frozen=True):
    """What a replay says about an output. It holds no text."""

    identical: bool
    same_characters: int
    """How many are the same before the first difference."""


def compare(live: str, replayed: str) -> Comparison:
    """Compare two outputs."""
    pairs = enumerate(zip(live, replayed, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(len(live), len(replayed)))
    return Comparison(live == replayed, same)
