"""How many requests a server works on, where several processes send it some.

Each process counts its own requests in a cell of memory that all of them share, and nobody waits
for anybody: a cell has one writer, and a reader adds all of them up.
"""

from __future__ import annotations

import mmap
import os
from operator import add

from specmeter.upstream.load import Mark

_CELL = 3
"""Numbers of a cell: requests under way; their share of the integral, see `SharedLoad`; the sum of
both, by which a reader sees whether it came in the middle of a write."""

_BYTES = 8
_TRIES = 20
"""Then what was read is taken as it is: the writer was stopped in the middle of a write."""


class SharedLoads:
    """The memory: a row for each upstream, in it a cell for each process.

    Args:
        upstreams: How many there are.
        processes: How many count.
        file: A descriptor of the memory, which is kept; `None` for new memory.

    Raises:
        OSError: There is no memory to be had.
    """

    def __init__(self, upstreams: int, processes: int, file: int | None = None) -> None:
        self._upstreams = upstreams
        self._width = processes * _CELL
        size = upstreams * self._width * _BYTES
        self.file = os.memfd_create("specmeter-load") if file is None else file
        if file is None:
            os.ftruncate(self.file, size)
        self._numbers = memoryview(mmap.mmap(self.file, size)).cast("d")

    def of(self, upstream: int, process: int) -> SharedLoad:
        """Return what one process counts of one upstream, both by their number from 0."""
        return SharedLoad(self._row(upstream), process * _CELL)

    def process_ended(self, process: int, at: float) -> None:
        """Take what a process that has ended left under way for ended at that moment."""
        for upstream in range(self._upstreams):
            row, cell = self._row(upstream), process * _CELL
            count, offset, check = row[cell : cell + _CELL]
            if abs(check - offset - count) < 1.5:  # noqa: PLR2004 - the count's step is 1
                count = round(check - offset)  # it ended after writing the count alone
            _write(row, cell, 0.0, offset + count * at)

    def close(self) -> None:
        """Give the descriptor back; the memory stays as long as somebody counts in it."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1

    def _row(self, upstream: int) -> memoryview[float]:
        return self._numbers[upstream * self._width : (upstream + 1) * self._width]


class SharedLoad:
    """As `Load`, over all processes.

    The integral of the requests under way is, at the time t, the sum over all requests that have
    begun: of those that have ended, their end less their beginning; of the others, t less their
    beginning. So each process keeps the sum of all ends less that of all beginnings, which changes
    only when one begins or ends.

    Args:
        row: The cells of the upstream.
        own: Where the own cell begins in it.
    """

    def __init__(self, row: memoryview[float], own: int) -> None:
        self._row = row
        self._own = own
        self._count: float = row[own]
        self._offset: float = row[own + 1]

    @property
    def under_way(self) -> int:
        """Requests under way now."""
        return int(self._sums()[0])

    def enter(self, at: float) -> Mark:
        """Count a request that begins."""
        self._add(1, -at)
        count, offset = self._sums()
        return Mark(at, offset + count * at)

    def leave(self, mark: Mark, at: float) -> float:
        """Count a request that has ended; return how many there were meanwhile, itself included.

        At least 1; the mean over its time.
        """
        self._add(-1, at)
        count, offset = self._sums()
        lasted = at - mark.at
        if lasted <= 0:
            return count + 1
        return max((offset + count * at - mark.area) / lasted, 1.0)

    def _add(self, requests: int, offset: float) -> None:
        self._count += requests
        self._offset += offset
        _write(self._row, self._own, self._count, self._offset)

    def _sums(self) -> tuple[float, float]:
        for _ in range(_TRIES):
            numbers = self._row.tolist()
            counts, offsets = numbers[::_CELL], numbers[1::_CELL]
            if list(map(add, counts, offsets)) == numbers[2::_CELL]:
                break
        return sum(counts), sum(offsets)


def _write(row: memoryview[float], cell: int, count: float, offset: float) -> None:
    row[cell] = count
    row[cell + 1] = offset
    row[cell + 2] = count + offset
