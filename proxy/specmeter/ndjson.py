"""Newline-delimited JSON: the framing only. Ollama streams one document a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specmeter.sse import Event


def events(stream: bytes) -> Iterator[Event]:
    """Yield each line of a stream; what follows the last line end comes as a last event."""
    start = 0
    while start < len(stream):
        newline = stream.find(b"\n", start)
        end = len(stream) if newline < 0 else newline + 1
        yield Event(stream[start:end].rstrip(b"\r\n"), start, end)
        start = end


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
