"""Contexts of the requests that a completion shares the server with.

A step reads the caches of all requests in flight, and a table is measured with requests of equal
contexts. So a completion of long context among short ones has to be looked up where all have the
mean of these contexts.
"""

from __future__ import annotations

from specmeter.speedup.ratio import Ratio

REMEMBERED = 512
"""Completions, about."""


class Company:
    """The mean context of recent traffic, by the time that it was in flight."""

    def __init__(self) -> None:
        self._context = Ratio()
        self._error = 1.0

    def add(self, context: float, seconds: float) -> None:
        """Count a completion that decoded for so many seconds."""
        self._context.fade(1 - 1 / REMEMBERED)
        self._context.add(context * seconds, seconds)
        self._error = min(self._context.relative_error, 1.0)

    def context(self, own: float, in_flight: float) -> tuple[float, float]:
        """Return the mean context of a completion and of the others in flight, and its error.

        As long as nothing is known of others, they are taken to be like this one.

        Args:
            own: Its context.
            in_flight: Requests, this one included (>= 1).
        """
        other = self._context.mean if self._context.tokens else own
        others = (in_flight - 1) * other / in_flight
        return own / in_flight + others, others * self._error
