"""One completion against its baseline."""

from __future__ import annotations

import msgspec

from specmeter.speedup.baseline import Source
from specmeter.speedup.interval import Sums
from specmeter.speedup.strata import Stratum


class Estimate(msgspec.Struct, frozen=True):
    """One completion against its baseline."""

    spent: float
    """Seconds of decoding (X)."""
    plain: float
    """Seconds that its tokens would have taken without speculation (Y)."""
    relative_error: float
    """The baseline's standard error per unit."""
    source: Source
    stratum: Stratum
    """Where the completion belongs."""
    stale: bool
    """Whether the baseline is of another build or model."""

    @property
    def ratio(self) -> float:
        """The speedup of this completion alone: mostly noise."""
        return self.plain / self.spent

    @property
    def sums(self) -> Sums:
        """What it adds to the sums."""
        return Sums.of(self.spent, self.plain, self.relative_error)
