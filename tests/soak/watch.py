"""Memory and file descriptors of the proxy, between rests in which nothing is under way."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from statistics import median

from tests.soak.proxy import ProxyProcess

GROWTH = 0.05
"""By so much of its memory after the warm-up the proxy may have grown at the end."""

SHORT = 300.0
"""Seconds of load below which the first leg is too short for a warm-up."""

SHORT_GROWTH = 0.15
"""What is allowed then: series and the page's past still come up for the first time."""

_SAMPLES = 5
_BETWEEN_SAMPLES = 0.2  # seconds
_STARTED_IN = 2.0  # seconds; the first questions' connections to upstreams are kept for one
_SETTLES_IN = 20.0  # seconds; idle connections to upstreams are kept for one


@dataclass(frozen=True)
class Rest:
    """What was found while nothing was under way."""

    after_seconds: float
    """Of load."""
    resident_bytes: int
    open_files: int


@dataclass
class Watch:
    """Looks at the proxy, under load and at rest."""

    proxy: ProxyProcess
    files_at_start: int = 0
    rests: list[Rest] = field(default_factory=list)
    under_load: list[int] = field(default_factory=list)
    """Resident bytes, once a second."""

    async def begin(self) -> None:
        """Note what is open before the first order; waits until nothing is left of starting."""
        await asyncio.sleep(_STARTED_IN)
        self.files_at_start = self.proxy.open_files()

    async def sample(self) -> None:
        """Note the memory under load once a second, until cancelled."""
        while True:
            self.under_load.append(self.proxy.resident_bytes())
            await asyncio.sleep(1)

    async def rest(self, after_seconds: float) -> None:
        """Wait until what belongs to requests is closed, then take the memory's median."""
        deadline = time.monotonic() + _SETTLES_IN
        while time.monotonic() < deadline:
            if self.proxy.open_files() <= self.files_at_start:
                break
            await asyncio.sleep(_BETWEEN_SAMPLES)
        found = []
        for _ in range(_SAMPLES):
            found.append(self.proxy.resident_bytes())
            await asyncio.sleep(_BETWEEN_SAMPLES)
        self.rests.append(Rest(after_seconds, int(median(found)), self.proxy.open_files()))

    @property
    def growth(self) -> float:
        """From the rest after the warm-up to the last one, as a share of the former."""
        return self.rests[-1].resident_bytes / self.rests[0].resident_bytes - 1

    @property
    def most_growth(self) -> float:
        """What it may be."""
        return GROWTH if self.rests[-1].after_seconds >= SHORT else SHORT_GROWTH

    def faults(self) -> list[str]:
        """Say what is not as it was."""
        found = [
            f"{rest.open_files} files open at rest after {rest.after_seconds:.0f} s of load, "
            f"{self.files_at_start} before it"
            for rest in self.rests
            if rest.open_files > self.files_at_start
        ]
        if self.growth > self.most_growth:
            found.append(f"memory grew by {self.growth:.1%}, allowed are {self.most_growth:.0%}")
        return found
