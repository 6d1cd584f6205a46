"""What was copied off one response while it passed, for reading once it has ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import orjson

from specmeter import sse

HEAD_BYTES = 16 * 1024
"""How much of a stream's beginning is kept: enough for the first event with content."""

ARRIVALS = 64
"""How many pieces keep their time of arrival, at each end of a stream."""


class Unread(StrEnum):
    """Why a completion, or a part of it, could not be read."""

    TOO_LARGE = "too_large"
    """Past the limit of what is copied, and what was copied holds no numbers."""
    COMPRESSED = "compressed"
    """The upstream compressed its answer although it was asked not to."""
    NOT_JSON = "not_json"
    NO_NUMBERS = "no_numbers"
    """Readable, but neither token counts nor timings in it."""
    ERROR_EVENT = "error_event"
    """The stream ended with an error of the upstream."""
    CUT_SHORT = "cut_short"
    """The upstream broke off before the numbers came."""
    OTHER_CHOICES = "other_choices"
    """Only one of several choices came with numbers; the others are missing."""
    READER_FAILED = "reader_failed"
    """A fault of specmeter itself; the log has it."""
    NOT_HANDED_OVER = "not_handed_over"
    """The process that reads did not keep up with the worker that carried it."""


class Framing(Protocol):
    """How a stream is cut into events: the modules `sse` and `ndjson`."""

    def events(self, stream: bytes) -> Iterator[sse.Event]:
        """Yield the events of a stream."""

    def raw_events(self, stream: bytes) -> Iterable[bytes]:
        """Return the events of a stream, without where they stand."""

    def data(self, event: bytes) -> bytes:
        """Return what an event carries."""

    def end_of_first_event(self, stream: bytes | bytearray, start: int = 0) -> int:
        """Return one past the end of the event at `start`, or -1."""


def _last_arrivals() -> deque[tuple[int, float]]:
    return deque(maxlen=ARRIVALS)


@dataclass(slots=True)
class Transcript:
    """A bounded copy of one response body, filled piece by piece.

    A stream keeps its beginning and its end, anything else its beginning. Appending costs the
    same however long the stream is.
    """

    streamed: bool
    limit: int
    """Bytes kept of the end of a stream, or of a body as a whole."""
    framing: Framing = sse
    """Of a stream."""
    total: int = 0
    """Bytes that passed."""
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    first_arrivals: list[tuple[int, float]] = field(default_factory=list)
    """(bytes passed up to and including a piece, its time in seconds on the loop's clock)"""
    last_arrivals: deque[tuple[int, float]] = field(default_factory=_last_arrivals)
    _pieces: list[bytes] = field(default_factory=list)
    """What came last, not yet sorted into the others: that is cheaper for several at a time."""
    _arrivals: list[tuple[int, float]] = field(default_factory=list)
    _sorted: int = 0
    """Bytes that were sorted."""

    def append(self, piece: bytes, now: float) -> None:
        """Copy one piece of the body that arrived at `now` (seconds, monotonic)."""
        self.total += len(piece)
        self._pieces.append(piece)
        self._arrivals.append((self.total, now))
        if len(self._pieces) == ARRIVALS or self.total - self._sorted > self.limit:
            self._sort()

    def _sort(self) -> None:
        """Keep of the last pieces what is to be kept."""
        if not self._pieces:
            return
        pieces, self._pieces = self._pieces, []
        arrivals, self._arrivals = self._arrivals, []
        if not self.streamed:
            for piece in pieces:
                self._sorted += len(piece)
                if self._sorted <= self.limit:
                    self.tail += piece
            return
        self._sorted = self.total
        self.last_arrivals.extend(arrivals)
        if (room := ARRIVALS - len(self.first_arrivals)) > 0:
            self.first_arrivals += arrivals[:room]
        for piece in pieces:
            if (room := HEAD_BYTES - len(self.head)) > 0:
                self.head += piece[:room]
            self.tail += piece
        if len(self.tail) > 2 * self.limit:
            del self.tail[: -self.limit]

    @property
    def truncated(self) -> bool:
        """Whether the copy lacks a part of what passed."""
        self._sort()
        return len(self.tail) < self.total

    def body(self) -> Any:
        """Parse a body that is one JSON document.

        Raises:
            orjson.JSONDecodeError: It is none, or was cut.
        """
        self._sort()
        return orjson.loads(self.tail)

    def end(self) -> bytes:
        """Return the kept end of a stream, from the start of an event on."""
        self._sort()
        kept = bytes(self.tail[-self.limit :])
        if len(kept) == self.total:
            return kept
        return kept[max(self.framing.end_of_first_event(kept), 0) :]

    def raw_events(self) -> Iterable[bytes]:
        """Return the events at the kept end of a stream, without what ends each."""
        return self.framing.raw_events(self.end())

    def events(self) -> Iterator[sse.Event]:
        """Yield the events at the kept end of a stream."""
        return self.framing.events(self.end())

    def first_content_at(self) -> float | None:
        """When the first event with generated content came; `None` if it was not seen."""
        self._sort()
        for event in self.framing.events(bytes(self.head)):
            if event.end == len(self.head) < self.total:
                break  # cut by the limit
            if carries_content(self.framing.data(event.raw)):
                return _arrival(event.start + len(event.raw), self.first_arrivals)
        return None

    def last_content_at(self) -> float | None:
        """When the last event with generated content came; `None` if it was not seen."""
        end = self.end()
        offset = self.total - len(end)
        for event in reversed(list(self.framing.events(end))[-ARRIVALS:]):
            if carries_content(self.framing.data(event.raw)):
                position = offset + event.start + len(event.raw)
                forgotten = len(self.last_arrivals) == ARRIVALS
                if forgotten and position <= self.last_arrivals[0][0]:
                    return None
                return _arrival(position, self.last_arrivals)
        return None


def _arrival(position: int, arrivals: Iterable[tuple[int, float]]) -> float | None:
    """When byte `position` had come."""
    return next((when for passed, when in arrivals if passed >= position), None)


def carries_content(data: bytes) -> bool:
    """Whether the data of a stream's event brings generated text, reasoning or a tool call.

    Knows the shapes of the APIs, which the servers share: chat and text completions, responses,
    Anthropic's messages, LM Studio's chat, Ollama's, and the native ones of llama.cpp, SGLang
    and KoboldCpp.
    """
    try:
        message = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(message, dict):
        return False
    if isinstance(kind := message.get("type"), str):
        return kind == "content_block_delta" or kind.endswith(".delta")
    if isinstance(choices := message.get("choices"), list):
        return any(_choice_has_content(choice) for choice in choices)
    if isinstance(inner := message.get("message"), dict):
        return _has_more_than_a_role(inner)
    return any(message.get(name) for name in ("content", "response", "thinking", "text", "token"))


def _choice_has_content(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return False
    if isinstance(delta := choice.get("delta"), dict):
        return _has_more_than_a_role(delta)
    return bool(choice.get("text") or choice.get("token_ids"))


def _has_more_than_a_role(message: dict[str, Any]) -> bool:
    return any(value for name, value in message.items() if name != "role")
