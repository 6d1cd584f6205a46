"""How a stream is cut into events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from specmeter.sse import Event


class Framing(Protocol):
    """A framing: the modules `sse` and `ndjson`."""

    END: bytes
    """What ends an event, as most servers write it."""

    def events(self, stream: bytes) -> Iterator[Event]:
        """Yield the events of a stream."""

    def events_backwards(self, stream: bytes) -> Iterator[Event]:
        """Yield the events of a stream, the last one first."""

    def raw_events(self, stream: bytes) -> Iterable[bytes]:
        """Return the events of a stream, without where they stand."""

    def data(self, event: bytes) -> bytes:
        """Return what an event carries."""

    def start_of_event(self, stream: bytes, position: int) -> int:
        """Return where an event starts that is no later than the one at `position`."""

    def end_of_first_event(self, stream: bytes | bytearray, start: int = 0) -> int:
        """Return one past the end of the event at `start`, or -1."""

    def end_of_last_event(self, stream: bytes) -> int:
        """Return one past the end of the last event that has ended, or 0."""
