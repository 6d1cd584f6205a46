"""One metered completion: a reading, and where and when it was taken."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from specmeter.lazy import lazy
from specmeter.reading import Reading
from specmeter.speedup.estimate import Estimate
from specmeter.speedup.work import Work, work_of
from specmeter.tally.counts import Numbers, numbers_of
from specmeter.tally.place import Place


class Source(StrEnum):
    """Where a completion's numbers come from."""

    RESPONSE = "response"
    MATCHED = "matched"
    """The answer's, completed from the server's log."""
    LOG = "log"
    """The server's log alone: its answer did not pass here, or could not be told."""


class Completion(msgspec.Struct, kw_only=True, dict=True):
    """A completion as the meter sees it. Durations are seconds.

    It is as it was made, but that `estimate` is told it before it is counted.
    """

    upstream: str
    endpoint: str
    model_name: str
    """An allowed name, or `other`."""
    reading: Reading
    streamed: bool
    time_to_first_token: float | None
    """From the request to the first content, on the proxy's clock; streams only."""
    duration: float | None
    finished_at: float
    """Unix time."""
    in_flight: int | None = None
    """Requests that the upstream worked on at the same time, this one included: their mean."""
    estimate: Estimate | None = None
    """What its tokens would have taken without speculation; `None` if there is no baseline."""
    stands_for: tuple[str, str] | None = None
    """Upstream and model that a held-out request would have counted for."""
    source: Source = Source.RESPONSE
    ending: str = "complete"
    """How its request ended: `complete`, `client_left` or `upstream_failed`."""

    @lazy
    def work(self) -> Work | None:
        """What the target did for it; `None` if that is not known."""
        return work_of(self.reading)

    @lazy
    def numbers(self) -> Numbers:
        """What it adds to the sums."""
        return numbers_of(self.reading, self.work, self.estimate, self.time_to_first_token)

    @lazy
    def place(self) -> Place:
        """What the sums are sliced by."""
        return Place.of(self.reading, self.in_flight)
