"""Counts of work and clocks, noted at the same moments."""

import os
import time
from dataclasses import dataclass

from tests.benchmarks.cpu import cpu_seconds, machine_cpu_seconds


@dataclass(frozen=True)
class Measured:
    """What happened between two moments.

    Attributes:
        count: events or requests.
        pieces: HTTP chunks or reads in which they arrived.
        seconds: wall time.
        cpu_seconds: CPU time of the proxy.
        foreign_cpu_seconds: CPU time of what has nothing to do with the benchmark.
    """

    count: int
    pieces: int
    seconds: float
    cpu_seconds: float
    foreign_cpu_seconds: float


class Meter:
    """Counts, and notes the clocks when the steady part of a load begins and ends.

    Args:
        proxy: process ids whose CPU time is measured.
        upstream: process id of the upstream, so that its CPU time is not taken for foreign.
    """

    def __init__(self, proxy: list[int], upstream: int) -> None:
        self._proxy = proxy
        self._helpers = [upstream, os.getpid()]
        self._marks: list[Measured] = []
        self.count = 0
        self.pieces = 0

    @property
    def ended(self) -> bool:
        return len(self._marks) > 1

    def mark(self) -> None:
        """Note the clocks: the first call begins what is measured, the second ends it."""
        proxy = cpu_seconds(self._proxy)
        self._marks.append(
            Measured(
                count=self.count,
                pieces=self.pieces,
                seconds=time.perf_counter(),
                cpu_seconds=proxy,
                foreign_cpu_seconds=machine_cpu_seconds() - cpu_seconds(self._helpers) - proxy,
            ),
        )

    def measured(self) -> Measured:
        """What happened between the two marks."""
        begin, end = self._marks
        return Measured(
            count=end.count - begin.count,
            pieces=end.pieces - begin.pieces,
            seconds=end.seconds - begin.seconds,
            cpu_seconds=end.cpu_seconds - begin.cpu_seconds,
            foreign_cpu_seconds=end.foreign_cpu_seconds - begin.foreign_cpu_seconds,
        )
