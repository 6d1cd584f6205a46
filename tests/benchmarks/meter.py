"""Counts of work and clocks, noted at the same moments."""

import os
import time
from array import array
from dataclasses import dataclass

from tests.benchmarks.cpu import cpu_seconds, machine_cpu_seconds
from tests.benchmarks.percentiles import Percentiles
from tests.benchmarks.resident import resident_bytes


@dataclass(frozen=True)
class Measured:
    """What happened between two moments.

    Attributes:
        count: events or requests.
        pieces: HTTP chunks or reads in which they arrived.
        seconds: wall time.
        cpu_seconds: CPU time of the proxy.
        foreign_cpu_seconds: CPU time of what has nothing to do with the benchmark.
        resident_bytes: memory of the proxy at the second moment.
        first_byte: milliseconds from a request to the first byte of its answer's body.
        gap: milliseconds between the events of a stream; 0 for those that came together.
    """

    count: int
    pieces: int
    seconds: float
    cpu_seconds: float
    foreign_cpu_seconds: float
    resident_bytes: int = 0
    first_byte: Percentiles | None = None
    gap: Percentiles | None = None


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
        self._first_bytes = array("f")
        self._gaps = array("f")
        self.count = 0
        self.pieces = 0

    @property
    def ended(self) -> bool:
        return len(self._marks) > 1

    def first_byte(self, seconds: float) -> None:
        """Note how long a client waited; of streams those count that began before the rest, too."""
        if not self.ended:
            self._first_bytes.append(seconds)

    def gap(self, seconds: float, events: int) -> None:
        """Note how long a stream was silent before so many events came together."""
        if len(self._marks) == 1:
            self._gaps.append(seconds)
            self._gaps.extend([0.0] * (events - 1))

    def mark(self) -> None:
        """Note the clocks: the first call begins what is measured, the second ends it."""
        memory = resident_bytes(self._proxy)
        proxy = cpu_seconds(self._proxy)
        self._marks.append(
            Measured(
                count=self.count,
                pieces=self.pieces,
                seconds=time.perf_counter(),
                cpu_seconds=proxy,
                foreign_cpu_seconds=machine_cpu_seconds() - cpu_seconds(self._helpers) - proxy,
                resident_bytes=memory,
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
            resident_bytes=end.resident_bytes,
            first_byte=Percentiles.of(self._first_bytes),
            gap=Percentiles.of(self._gaps),
        )
