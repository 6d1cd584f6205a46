"""What the data path does for the sake of comparison: nothing, unless the configuration says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from specmeter.gateway.exchange import Replayable
from specmeter.gateway.holdout import Holdout

MOST_REPLAYED_BYTES = 1024 * 1024
"""A longer request is not replayed: it would have to be kept in memory."""


class Shadow(Protocol):
    """What draws finished requests for a replay."""

    def draws(self, endpoint: str) -> bool:
        """Decide on a request."""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """By the name of the upstream that speculates."""

    prove: Callable[[Holdout, str, Replayable], None]
    """Has a copy of a request to this endpoint answered by a plain upstream."""
    holdouts: Mapping[str, Holdout] = field(default_factory=dict)
    shadows: Mapping[str, Shadow] = field(default_factory=dict)

    def compares(self, upstream: str) -> bool:
        """Whether requests to this upstream are drawn for something."""
        return upstream in self.holdouts or upstream in self.shadows
