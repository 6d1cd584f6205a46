"""The copy of a stream: of what passes, only what is needed to read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from specmeter import sse
from specmeter.backends.markers import ALL_MARKERS, ANY_MARKER
from specmeter.fault import Fault
from specmeter.transcript.content import carries_content
from specmeter.transcript.copied import CopiedStream
from specmeter.transcript.framing import Framing
from specmeter.transcript.kept_events import KeptEvents

PENDING_BYTES = 32 * 1024
"""How much memory pieces take that wait to be looked through: many at once are cheaper."""

_PER_PIECE = 72
"""Bytes of memory that a piece takes beside its own."""

_SEARCHED_BYTES = 64 * 1024
"""So much of a stream's beginning is searched for its first content."""

_SEARCHED_EVENTS = 64
"""So many events are asked for content, from the last one on, each time some are looked through."""

_CUT_END = 3
"""So many bytes at the end of a piece may be the beginning of what ends an event."""

_OTHER_INDEX = re.compile(rb'"index":\s*[1-9]')
"""What is in every event that brings a choice that is not the first."""

_MAY_BE_WANTED = re.compile(
    b'"[%b](?:%b)'
    % (
        bytes({marker[1] for marker in ALL_MARKERS} | {_OTHER_INDEX.pattern[1]}),
        b"|".join([*(marker[2:] for marker in ALL_MARKERS), _OTHER_INDEX.pattern[2:]]),
    )
)
"""Finds all of these, and what differs from one in its first letter: that is twice as fast."""


class StreamTranscript:
    """Looks through a stream as it passes, and keeps the events that may be read later.

    Appending costs the same however long the stream is, and so does what is kept.

    Args:
        limit: The most bytes that are kept of events, and of one that has not ended.
        framing: How it is cut into events.
        keeps_everything: Whether all events are kept, up to `limit` bytes.
    """

    __slots__ = (
        "_before",
        "_copied",
        "_everything",
        "_first_content_at",
        "_framing",
        "_has_other_choices",
        "_is_skipping",
        "_kept",
        "_last",
        "_last_content_at",
        "_pieces",
        "_rest",
        "_room",
        "_seen",
        "_times",
        "limit",
    )

    def __init__(
        self, limit: int, framing: Framing = sse, *, keeps_everything: bool = False
    ) -> None:
        self.limit = limit
        self._framing = framing
        self._pieces: list[bytes] = []
        """Not yet looked through."""
        self._room = PENDING_BYTES
        self._times: list[float] = []
        """When each of these came; no pairs, which would give the garbage collector work."""
        self._seen = 0
        """Bytes that were looked through."""
        self._before = 0.0
        """When the last of them came."""
        self._rest = bytearray()
        """Of an event that has not ended."""
        self._is_skipping = False
        """Whether that event is too large to be kept."""
        self._kept = KeptEvents(limit)
        self._last: bytes | None = None
        self._first_content_at: float | None = None
        self._last_content_at: float | None = None
        self._has_other_choices = False
        self._everything: bytearray | None = bytearray() if keeps_everything else None
        self._copied: CopiedStream | Fault | None = None

    def append(self, piece: bytes, now: float) -> None:
        """Copy one piece of the stream that arrived at `now` (seconds, monotonic)."""
        self._pieces.append(piece)
        self._times.append(now)
        self._room -= len(piece) + _PER_PIECE
        if self._room < 0:
            self._look_through()

    def copied(self) -> CopiedStream | Fault:
        """Return what was kept; what follows the last event's end counts as one more event."""
        if self._pieces:
            self._look_through()
        if self._copied is None:
            try:
                self._take_rest()
                self._copied = self._result()
            except Exception as error:  # noqa: BLE001 - as in `_look_through`
                self._copied = Fault.of(error)
        return self._copied

    def _take_rest(self) -> None:
        if self._rest and not self._is_skipping:
            rest = bytes(self._rest)
            self._take(rest, self._seen - len(rest), _Arrived((), (), self._seen, self._before))

    def _result(self) -> CopiedStream:
        data, everything = self._framing.data, self._everything
        return CopiedStream(
            numbers=tuple(data(event) for event in self._kept.in_order()),
            last=None if self._last is None else data(self._last),
            is_incomplete=self._kept.is_incomplete,
            first_content_at=self._first_content_at,
            last_content_at=self._last_content_at,
            has_other_choices=self._has_other_choices,
            everything=(
                None
                if everything is None
                else tuple(data(event) for event in self._framing.raw_events(bytes(everything)))
            ),
        )

    def _look_through(self) -> None:
        """Keep of what has come what is to be kept; a fault in that must not stop the stream."""
        pieces, self._pieces = self._pieces, []
        times, self._times = self._times, []
        self._room = PENDING_BYTES
        if self._copied is not None:
            return  # it has failed
        try:
            self._take_ended(pieces, times)
        except Exception as error:  # noqa: BLE001 - whatever it is, the stream goes on
            self._copied = Fault.of(error)

    def _take_ended(self, pieces: list[bytes], times: list[float]) -> None:
        """Keep of the events that have ended what is to be kept."""
        arrived = b"".join(pieces)
        rest, start = self._rest, self._seen - len(self._rest)
        self._seen += len(arrived)
        new = _Arrived(pieces, times, self._seen, self._before)
        self._before = times[-1]
        if self._everything is not None:
            self._everything += arrived
            if len(self._everything) > self.limit:
                self._everything = None
        overlap = bytes(rest[-_CUT_END:])
        end = self._framing.end_of_last_event(overlap + arrived) - len(overlap)
        if end <= 0:
            rest += arrived
            if len(rest) > self.limit:
                self._skip()
            return
        ended = bytes(rest) + arrived[:end] if rest else arrived[:end]
        self._rest = bytearray(arrived[end:])
        if self._is_skipping:
            self._is_skipping = False
            skipped = self._framing.end_of_first_event(ended)
            if skipped < 0:
                return
            ended, start = ended[skipped:], start + skipped
        self._take(ended, start, new)
        if len(self._rest) > self.limit:
            self._skip()

    def _skip(self) -> None:
        """Let go of an event that is too large."""
        del self._rest[:-_CUT_END]
        self._is_skipping = True
        self._kept.is_incomplete = True

    def _take(self, events: bytes, start: int, arrived: _Arrived) -> None:
        """Look through events of which the first one stands at byte `start` of the stream."""
        if _MAY_BE_WANTED.search(events) is not None:
            self._keep_numbers(events)
            self._look_for_other_choices(events)
        if self._first_content_at is None and start < _SEARCHED_BYTES:
            self._time_first_content(events, start, arrived)
        self._look_back(events, start, arrived)

    def _keep_numbers(self, events: bytes) -> None:
        has_numbers = ANY_MARKER.search
        if (found := has_numbers(events)) is None:
            return
        first = self._framing.start_of_event(events, found.start())
        for event in self._framing.raw_events(events[first:]):
            if b"{" in event and has_numbers(event):
                self._kept.add(event)

    def _look_for_other_choices(self, events: bytes) -> None:
        if self._has_other_choices or not _OTHER_INDEX.search(events):
            return
        framing = self._framing
        self._has_other_choices = any(
            _has_other_choice(framing.data(event)) for event in framing.raw_events(events)
        )

    def _time_first_content(self, events: bytes, start: int, arrived: _Arrived) -> None:
        framing = self._framing
        for event in framing.events(events):
            if b"{" in event.raw and carries_content(framing.data(event.raw)):
                self._first_content_at = arrived.at(start + event.start + len(event.raw))
                return

    def _look_back(self, events: bytes, start: int, arrived: _Arrived) -> None:
        """Keep the last event, and when the last content came."""
        framing = self._framing
        looked_at = 0
        for event in framing.events_backwards(events):
            if b"{" not in event.raw:
                continue  # a comment, a ping, [DONE]
            if not looked_at:
                is_needless = ANY_MARKER.search(event.raw) or len(event.raw) > self.limit
                self._last = None if is_needless else event.raw
            if carries_content(framing.data(event.raw)):
                self._last_content_at = arrived.at(start + event.start + len(event.raw))
                return
            looked_at += 1
            if looked_at == _SEARCHED_EVENTS:
                self._last_content_at = None  # not guessed
                return


class _Arrived(NamedTuple):
    """Pieces that have come."""

    pieces: Sequence[bytes]
    times: Sequence[float]
    end: int
    """Bytes of the stream that have come with them."""
    before: float
    """When the piece before them came."""

    def at(self, position: int) -> float:
        """When byte `position` had come, which is one of these, or shortly before them."""
        begin = self.end
        for piece, when in zip(reversed(self.pieces), reversed(self.times), strict=True):
            begin -= len(piece)
            if begin < position:
                return when
        return self.before


def _has_other_choice(data: bytes) -> bool:
    """Whether an event brings a choice that is not the first."""
    if b'"choices"' not in data:
        return False
    try:
        message: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    choices = message.get("choices") if isinstance(message, dict) else None
    return any(
        choice.get("index") not in (0, None)
        for choice in (choices if isinstance(choices, list) else ())
        if isinstance(choice, dict)
    )
