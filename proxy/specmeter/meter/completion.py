"""One metered completion: a reading, and where and when it was taken."""

from __future__ import annotations

from dataclasses import dataclass

from specmeter.reading import Reading


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion as the meter sees it. Durations are seconds."""

    upstream: str
    endpoint: str
    model_name: str
    """An allowed name, or `other`."""
    reading: Reading
    streamed: bool
    time_to_first_token: float | None
    """From the request to the first content, on the proxy's clock; streams only."""
    duration: float
    finished_at: float
    """Unix time."""
