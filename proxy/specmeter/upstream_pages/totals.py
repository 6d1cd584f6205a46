"""Adds a server's counters up over its restarts, so that they never decrease.

A process is told by what the page or its headers say of it. Where nothing does, a number that went
down tells that the process is a new one, and then all of its numbers are: it starts as a whole.
Several processes may also answer in turn, as replicas behind one address do; then each one's
numbers are kept apart, and what is exported is their sum.

What a process counted between the last look and its end is not seen. After a restart of specmeter
itself the totals are those of the processes that are there then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from specmeter.upstream_pages.base import Key, Value

MAX_PROCESSES = 64
"""More than these are not kept apart: the one not seen for longest counts as ended."""


class Totals:
    """The counters of one page."""

    def __init__(self) -> None:
        self._processes: dict[str, dict[Key, Value]] = {}
        """By process, the one seen last at the end."""
        self._ended: dict[Key, float] = {}

    def take(self, counters: Mapping[Key, Value], process: str) -> None:
        """Add what a page says now; a counter that is missing stays what it was.

        Args:
            counters: The numbers since the process began.
            process: What tells the process; empty if nothing does.
        """
        known = self._known(process)
        if any(_fell(known[key], value) for key, value in counters.items() if key in known):
            self._end(known)
            known.clear()
        for key, value in counters.items():
            before = known.get(key)
            if before is None or value.number >= before.number:
                known[key] = value
        if len(self._processes) > MAX_PROCESSES:
            self._end(self._processes.pop(next(iter(self._processes))))

    def items(self) -> Iterator[tuple[Key, float]]:
        """Yield each counter with its total."""
        sums = dict(self._ended)
        for counters in self._processes.values():
            for key, value in counters.items():
                sums[key] = sums.get(key, 0.0) + value.number
        yield from sums.items()

    def _known(self, process: str) -> dict[Key, Value]:
        """Return what is known of a process, which is now the one seen last."""
        if not process and self._processes:
            process = next(reversed(self._processes))
        known = self._processes.pop(process, None)
        if known is None:
            # What did not tell its process, and does now, is the same one.
            known = self._processes.pop("", {})
        self._processes[process] = known
        return known

    def _end(self, counters: Mapping[Key, Value]) -> None:
        for key, value in counters.items():
            self._ended[key] = self._ended.get(key, 0.0) + value.number


def _fell(before: Value, now: Value) -> bool:
    """Tell a number that starts anew from one that is rounded otherwise."""
    return before.number - now.number > max(before.quantum, now.quantum)
