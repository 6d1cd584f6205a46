"""Newline-delimited JSON: the framing only. Ollama streams one document a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specmeter.sse import Event

END = b"\n"
"""What ends a document, as most servers write it."""


def events(stream: bytes) -> Iterator[Event]:
    """Yield each line of a stream; what follows the last line end comes as a last event."""
    start = 0
    while start < len(stream):
        newline = stream.find(b"\n", start)
        end = len(stream) if newline < 0 else newline + 1
        yield Event(stream[start:end].rstrip(b"\r\n"), start, end)
        start = end


def events_backwards(stream: bytes) -> Iterator[Event]:
    """Yield the lines that `events` yields, the last one first."""
    end = len(stream)
    while end > 0:
        start = start_of_event(stream, end - 1)
        yield Event(stream[start:end].rstrip(b"\r\n"), start, end)
        end = start


def raw_events(stream: bytes) -> Iterable[bytes]:
    """Return the `raw` of each event of a stream."""
    return (event.raw for event in events(stream))


def data(event: bytes) -> bytes:
    """Return the document of an event: all of it."""
    return event


def end_of_first_event(stream: bytes | bytearray, start: int = 0) -> int:
    """Return one past the end of the line at `start`, or -1."""
    newline = stream.find(b"\n", start)
    return -1 if newline < 0 else newline + 1


def start_of_event(stream: bytes, position: int) -> int:
    """Return where the line at `position` starts."""
    return stream.rfind(b"\n", 0, position) + 1


def end_of_last_event(stream: bytes) -> int:
    """Return one past the last line end, or 0."""
    return stream.rfind(b"\n") + 1
