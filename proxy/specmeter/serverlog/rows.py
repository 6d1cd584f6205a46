"""The records to show: a bounded number of them, however long the log is."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable

from specmeter.serverlog.entry import Entry

SORT_KEYS: dict[str, Callable[[Entry], float | None]] = {
    "prompt": lambda entry: entry.prompt_processed,
    "tokens": lambda entry: entry.reading.generated,
    "steps": lambda entry: entry.steps,
    "drafted": lambda entry: entry.reading.drafted,
    "accepted": lambda entry: entry.reading.accepted,
    "acceptance": lambda entry: entry.acceptance,
    "avg-draft": lambda entry: entry.average_draft,
    "output-per-step": lambda entry: entry.output_per_step,
    "mean-len": lambda entry: entry.mean_acceptance_length,
    "tokens-per-second": lambda entry: entry.tokens_per_second,
}
"""What records can be sorted by; `None` is unknown, and comes last."""


class Rows:
    """Keeps the last records of the log, or the first ones in the order of a key.

    Args:
        limit: How many; `None` for all of them.
        key: One of `SORT_KEYS`; `None` for the order of the log.
        smallest_first: Else the greatest is the first.
    """

    def __init__(
        self, limit: int | None, key: str | None = None, *, smallest_first: bool = False
    ) -> None:
        self.left_out = 0
        self._limit = limit
        self._value = SORT_KEYS[key] if key is not None else None
        self._sign = -1 if smallest_first else 1
        self._last: deque[Entry] = deque(maxlen=limit)
        self._best: list[tuple[float, int, Entry]] = []
        self._added = 0

    def add(self, entry: Entry) -> None:
        """Take in the next record of the log."""
        self._added += 1
        if self._value is None:
            self.left_out += self._limit is not None and len(self._last) == self._limit
            self._last.append(entry)
            return
        value = self._value(entry)
        rank = -math.inf if value is None else self._sign * value
        heapq.heappush(self._best, (rank, -self._added, entry))
        if self._limit is not None and len(self._best) > self._limit:
            heapq.heappop(self._best)
            self.left_out += 1

    def kept(self) -> list[Entry]:
        """Return the records in order."""
        if self._value is None:
            return list(self._last)
        return [entry for _, _, entry in sorted(self._best, key=lambda item: item[:2])[::-1]]
