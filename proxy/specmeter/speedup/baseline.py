"""Plain seconds per token: where they come from and how far they can be trusted."""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from specmeter.speedup.strata import Stratum


class Source(StrEnum):
    """Where plain speed is known from, best first."""

    HOLDOUT = "holdout"
    """A random share of live requests is answered by a plain upstream."""
    SHADOW = "shadow"
    """A share of finished requests is replayed on a plain upstream."""
    MEASURED = "measured"
    """A file of measurements of a plain server."""
    FIXED = "fixed"
    """A number in the configuration."""
    UNDRAFTED = "undrafted"
    """Live requests of the same upstream in which nothing was drafted, if others are drafted."""


LEARNED = (Source.HOLDOUT, Source.SHADOW, Source.UNDRAFTED)
"""Sources that learn from requests while the proxy runs."""


class Sample(msgspec.Struct, frozen=True):
    """One completion without speculation."""

    stratum: Stratum
    seconds: float
    """Of decoding (> 0)."""
    tokens: int
    """That came in these seconds (>= 1)."""
    at: float
    """Unix time."""


class PlainSpeed(msgspec.Struct, frozen=True):
    """What one token takes without speculation."""

    seconds_per_token: float
    relative_error: float
    """Standard error per unit; drift since it was measured included."""
    source: Source
    stratum: Stratum
    """What it was measured in: the stratum asked for, or a coarser one."""
    measured_at: float
    """Unix time, the mean of what it was measured from."""
    stale: bool = False
    """Whether the build or the model is another one now."""


class Origin(msgspec.Struct, frozen=True):
    """What was measured: a build and a model; empty where unknown."""

    build: str = ""
    model: str = ""

    def differs(self, other: Origin) -> bool:
        """Whether both are known and not the same."""
        return _differ(self.model, other.model) or (
            _differ(self.build, other.build) and _release(self.build) != _release(other.build)
        )

    def completed(self, other: Origin) -> Origin:
        """Return this, with what is unknown of it taken from another."""
        return Origin(self.build or other.build, self.model or other.model)


def _differ(one: str, other: str) -> bool:
    return bool(one and other) and one != other


def _release(build: str) -> str:
    """Leave out a hash at the end: of a commit, or of the server's own configuration."""
    return re.sub(r"-[0-9a-f]{6,}$", "", build)
