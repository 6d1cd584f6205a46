"""Server-sent events: the framing only, as the WHATWG standard gives it (section 9.2.6).

Lines end with CR, LF or CRLF; a blank line ends an event; `:` opens a comment; several
`data:` lines join with LF.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_LINE_END = rb"(?>\r\n|\r|\n)"
_BLANK_LINE = re.compile(_LINE_END + _LINE_END)
_LINES = re.compile(_LINE_END)
END = b"\n\n"
"""What ends an event, as most servers write it."""

_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event, raw, and where it stands in the bytes it was taken from."""

    raw: bytes
    """The event's lines without the blank line that ends it."""
    start: int
    end: int
    """One past the blank line."""


def events(stream: bytes) -> Iterator[Event]:
    """Yield each event of a stream; what follows the last blank line comes as a last event."""
    start = 0
    for blank in _BLANK_LINE.finditer(stream):
        yield Event(stream[start : blank.start()], start, blank.end())
        start = blank.end()
    if start < len(stream):
        yield Event(stream[start:], start, len(stream))


def events_backwards(stream: bytes) -> Iterator[Event]:
    """Yield the events that `events` yields, the last one first.

    Where more than one blank line follows an event, its line end counts with the next one.
    """
    if b"\r" in stream:
        yield from reversed(list(events(stream)))
        return
    end = len(stream)
    while end > 0:
        stop = end - 2 if stream.endswith(b"\n\n", 0, end) else end
        start = start_of_event(stream, stop)
        yield Event(stream[start:stop], start, end)
        end = start


def raw_events(stream: bytes) -> Iterable[bytes]:
    """Return the `raw` of each event of a stream; far cheaper than all that `events` tells."""
    if b"\r" in stream:
        return (event.raw for event in events(stream))
    found = stream.split(b"\n\n")
    if not found[-1]:
        found.pop()
    return found


def data(event: bytes) -> bytes:
    """Return the `data` of an event, empty if it has none."""
    if event.startswith(b"data: ") and b"\n" not in event and b"\r" not in event:
        return event[6:]
    parts = []
    for line in _LINES.split(event.removeprefix(_BOM)):
        name, _, value = line.partition(b":")
        if name == b"data":
            parts.append(value.removeprefix(b" "))
    return b"\n".join(parts)


def end_of_first_event(stream: bytes | bytearray, start: int = 0) -> int:
    """Return one past the blank line that ends the event at `start`, or -1.

    A stream that ends with CR may go on with LF: such an end is not yet one.
    """
    blank = _BLANK_LINE.search(stream, start)
    if blank is None or (blank.end() == len(stream) and stream.endswith(b"\r")):
        return -1
    return blank.end()


def start_of_event(stream: bytes, position: int) -> int:
    """Return where an event starts that is no later than the one at `position`."""
    if b"\r" in stream:
        return 0
    blank = stream.rfind(b"\n\n", 0, position)
    return 0 if blank < 0 else blank + 2


def end_of_last_event(stream: bytes) -> int:
    """Return one past the last blank line, or 0."""
    if b"\r" in stream:
        return max((blank.end() for blank in _BLANK_LINE.finditer(stream)), default=0)
    blank = stream.rfind(b"\n\n")
    return 0 if blank < 0 else blank + 2
