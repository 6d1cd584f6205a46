"""What the errors of single strata come to over a mix of strata."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key")

_WEIGH_AFTER = 32
_HALVE_AFTER = 512


class Mix(Generic[Key]):
    """How recent traffic spreads over parts whose errors are independent of each other."""

    def __init__(self) -> None:
        self._seconds: dict[Key, float] = {}
        self._count = 0

    def add(self, part: Key, seconds: float) -> None:
        """Count traffic of so many plain seconds."""
        self._seconds[part] = self._seconds.get(part, 0.0) + seconds
        self._count += 1
        if self._count == _HALVE_AFTER:
            self._count //= 2
            self._seconds = {part: one / 2 for part, one in self._seconds.items()}

    @property
    def is_due(self) -> bool:
        """Whether so much has come since the last time that shares are worth a look."""
        few = self._count & (self._count - 1) == 0  # 1, 2, 4, 8…
        return few or self._count % _WEIGH_AFTER == 0

    def shares(self) -> dict[Key, float]:
        """Return each part's share of the traffic; they add up to 1."""
        total = sum(self._seconds.values())
        return {part: one / total for part, one in self._seconds.items()} if total > 0 else {}


def error_of_mix(
    shares: Mapping[Key, float],
    errors: Mapping[Key, float],
    measured: Mapping[Key, float],
) -> float:
    """Return the relative error of a mix of parts.

    Where the traffic is made up like the samples, an error in one part is made up for by what the
    samples as a whole say, and cancels out; what counts is the difference.

    Args:
        shares: Of the traffic, by part.
        errors: Relative error of each part of them.
        measured: Shares of the samples; empty if their whole says nothing.
    """
    return math.sqrt(
        sum(
            ((share - measured.get(part, 0.0)) * errors[part]) ** 2
            for part, share in shares.items()
        )
    )
