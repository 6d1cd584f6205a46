"""What is found in a stream's events: those with numbers, and when content came."""

from __future__ import annotations

import re
from typing import Any

import orjson

from specmeter.backends.choices import has_other_choice
from specmeter.backends.markers import ALL_MARKERS, ANY_MARKER
from specmeter.transcript.arrived import Arrived
from specmeter.transcript.content import carries_content
from specmeter.transcript.framing import Framing
from specmeter.transcript.kept_events import KeptEvents

_SEARCHED_BYTES = 64 * 1024
"""So much of a stream's beginning is searched for its first content."""

_SEARCHED_EVENTS = 64
"""So many events are asked for content, from the last one on, each time some are looked through."""

_OTHER_INDEX = re.compile(rb'"index":\s*[1-9]')
"""What is in every event that brings a choice that is not the first."""


def _quoted(*starts: bytes) -> re.Pattern[bytes]:
    """Find what begins with a quote and one of these: by the first letters it is twice as fast."""
    letters = bytes({start[0] for start in starts})
    rests = b"|".join(start[1:] for start in starts)
    return re.compile(b'"[%b](?:%b)' % (letters, rests))


_WANTED = (*(marker[1:] for marker in ALL_MARKERS), _OTHER_INDEX.pattern[1:])

_MAY_BE_WANTED = _quoted(*_WANTED)
"""Finds what is looked for, and what differs from it in the first letter."""

MAY_BE_MORE = _quoted(*_WANTED, b'type"')
"""Finds that too, and events with a type: what is in such a one, only the type tells."""


class Findings:
    """What is worth keeping of the events of one stream.

    Args:
        limit: The most bytes that are kept.
        framing: How the stream is cut into events.
    """

    __slots__ = (
        "_framing",
        "_limit",
        "_searched",
        "first_content_at",
        "has_other_choices",
        "last",
        "last_content_at",
        "numbers",
    )

    def __init__(self, limit: int, framing: Framing) -> None:
        self._limit = limit
        self._framing = framing
        self._searched = 0
        """Bytes from the beginning on in which content was looked for."""
        self.numbers = KeptEvents(limit)
        self.last: bytes | None = None
        """The last event with any data, if it is none with numbers."""
        self.first_content_at: float | None = None
        self.last_content_at: float | None = None
        self.has_other_choices = False
        """Whether it brings more outputs than one."""

    @property
    def looks_for_first_content(self) -> bool:
        """Whether no content has been found so far, and it is not too late."""
        return self.first_content_at is None and self._searched < _SEARCHED_BYTES

    def take(self, events: bytes, start: int, arrived: Arrived) -> None:
        """Look through events; byte `start`, as `arrived` counts them, is the first one's first."""
        if _MAY_BE_WANTED.search(events) is not None:
            self._keep_numbers(events)
            self._look_for_other_choices(events)
        if self.looks_for_first_content:
            self._time_first_content(events, start, arrived)
        self._look_back(events, start, arrived)

    def _keep_numbers(self, events: bytes) -> None:
        has_numbers = ANY_MARKER.search
        if (found := has_numbers(events)) is None:
            return
        first = self._framing.start_of_event(events, found.start())
        for event in self._framing.raw_events(events[first:]):
            if b"{" in event and has_numbers(event):
                self.numbers.add(event)

    def _look_for_other_choices(self, events: bytes) -> None:
        if self.has_other_choices or not _OTHER_INDEX.search(events):
            return
        framing = self._framing
        self.has_other_choices = any(
            _brings_other_choice(framing.data(event)) for event in framing.raw_events(events)
        )

    def _time_first_content(self, events: bytes, start: int, arrived: Arrived) -> None:
        framing = self._framing
        self._searched += len(events)
        for event in framing.events(events):
            if b"{" in event.raw and carries_content(framing.data(event.raw)):
                self.first_content_at = arrived.at(start + event.start + len(event.raw))
                return

    def _look_back(self, events: bytes, start: int, arrived: Arrived) -> None:
        """Keep the last event, and when the last content came."""
        framing = self._framing
        looked_at = 0
        for event in framing.events_backwards(events):
            if b"{" not in event.raw:
                continue  # a comment, a ping, [DONE]
            if not looked_at:
                is_needless = ANY_MARKER.search(event.raw) or len(event.raw) > self._limit
                self.last = None if is_needless else event.raw
            if carries_content(framing.data(event.raw)):
                self.last_content_at = arrived.at(start + event.start + len(event.raw))
                return
            looked_at += 1
            if looked_at == _SEARCHED_EVENTS:
                self.last_content_at = None  # not guessed
                return


def _brings_other_choice(data: bytes) -> bool:
    """Whether an event brings a choice that is not the first."""
    if b'"choices"' not in data:
        return False
    try:
        message: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return isinstance(message, dict) and has_other_choice(message)
