"""Takes out of a stream what was put into it by the request's additions.

What that is, each backend says (`backends/injection.py`). The client's stream is byte for byte what
it would have been.
"""

from __future__ import annotations

from typing import Protocol

import orjson

from specmeter import sse
from specmeter.backends.injection import Undo
from specmeter.gateway.json_member import before, last_member

_FINISHED = b'"finish_reason":"'
_CHOICES = b'"choices":['
_NO_CHOICES = b'"choices":[]'
_USAGE = b'"usage":{'
_FINGERPRINT = b'"system_fingerprint"'
_LAST_OF_A_CHOICE = (_FINISHED, _NO_CHOICES, b'"type":"response.completed"')
"""What marks a chunk that has llama.cpp's timings unasked."""

_ADDED = (b',"timings"', b',"usage"')
"""What begins a member that may have been added."""

_MAX_HELD_BYTES = 4 * 1024 * 1024
"""An event longer than this is passed on as it comes; it is none of those that are added."""

_CUT_END = 3
"""So many bytes at the end of a piece may be the beginning of what ends an event."""


class Filter(Protocol):
    """Passes an answer on without what was added to it."""

    def feed(self, piece: bytes) -> bytes:
        """Take a piece of the answer; return what can be passed on."""

    def flush(self) -> bytes:
        """Return what is still held: the answer is whole."""

    def broken_off(self) -> bytes:
        """Return what is still held and can be passed on: the answer has broken off."""


class StreamFilter:
    """Passes a stream on event by event, without the events and members that were added.

    Where the fingerprint moves (vLLM's entrypoints/openai/chat_completion/serving.py), the chunk
    with the finish reason is held until the next event has come: the usage chunk is right behind
    it.

    A server that sends usage on every chunk (vLLM with `--enable-force-include-usage`) would send
    the usage chunk unasked; then nothing is taken out.
    """

    def __init__(self, undo: Undo) -> None:
        self._undo = undo
        self._partial = bytearray()
        self._held = b""
        self._searched = 0
        """So much of `_partial` was searched for an event's end."""
        self._is_long = False
        """Whether the event that is coming is passed on as it comes."""
        self._off = False
        self.usage_unasked: bool | None = None
        """Whether a usage chunk came that was not asked for; `None` before the stream's end."""

    def feed(self, piece: bytes) -> bytes:
        """Take a piece of the stream; return what can be passed on."""
        return piece if self._off else self._filtered(piece)

    def _filtered(self, piece: bytes) -> bytes:
        self._partial += piece
        passed: list[bytes] = []
        start, search = 0, self._searched
        while not self._off and (end := sse.end_of_first_event(self._partial, search)) >= 0:
            event = bytes(self._partial[start:end])
            passed.append(event if self._is_long else self._event(event))
            self._is_long = False
            start = search = end
        del self._partial[:start]
        if self._off:
            passed.append(self.flush())
        elif self._is_long or len(self._partial) > _MAX_HELD_BYTES:
            self._is_long = True
            passed.append(self._let_go_of_long())
        self._searched = max(len(self._partial) - _CUT_END, 0)
        return b"".join(passed)

    def _let_go_of_long(self) -> bytes:
        """Return what is there of a long event, but for what may be the beginning of its end."""
        held, self._held = self._held, b""
        there = held + bytes(self._partial[:-_CUT_END])
        del self._partial[:-_CUT_END]
        return there

    def flush(self) -> bytes:
        """Return what is still held."""
        rest = self._held + bytes(self._partial)
        self._held = b""
        self._partial.clear()
        self._searched = 0
        return rest

    def broken_off(self) -> bytes:
        """Return what is held, half an event up to where something that was added may begin."""
        if not (self._off or self._is_long):
            partial = bytes(self._partial)
            keep = 0 if _NO_CHOICES in partial else before(partial, _ADDED)
            del self._partial[keep:]
        return self.flush()

    def _event(self, event: bytes) -> bytes:
        held, self._held = self._held, b""
        undo = self._undo
        if undo.running_timings and not any(mark in event for mark in _LAST_OF_A_CHOICE):
            event = _without_member(event, b"timings")
        if _NO_CHOICES in event:
            return self._without_choices(held, event)
        if _USAGE in event:
            if undo.running_usage:
                event = _without_usage(event, undo) if _CHOICES in event else event
            elif undo.usage_chunk:
                self._off = True  # usage on a chunk with content: the server's own habit
                return held + event
        if _FINISHED in event:
            self.usage_unasked = self.usage_unasked or False
            if undo.fingerprint_moves:
                self._held = event
                return held
        if held and event.startswith(b":"):
            self._held = held + event  # a ping says nothing of what comes next
            return b""
        return held + event

    def _without_choices(self, held: bytes, event: bytes) -> bytes:
        undo = self._undo
        if _USAGE in event:
            if not undo.usage_chunk:
                self.usage_unasked = True
                return held + event
            return _with_fingerprint(held, event) if undo.fingerprint_moves else held
        if undo.extension and b'"%b":{' % undo.extension in event:
            return held
        return held + event


def _without_member(event: bytes, name: bytes) -> bytes:
    member = last_member(event, name)
    return event if member is None else event[: member.start] + event[member.end :]


def _without_usage(event: bytes, undo: Undo) -> bytes:
    """Take the usage out of a chunk that would have had none, or null."""
    usage = last_member(event, b"usage")
    if usage is None:
        return event
    if any(mark in event for mark in undo.null_usage):
        return event[: usage.value] + b"null" + event[usage.end :]
    return _without_member(event, b"usage")


def _with_fingerprint(finished: bytes, usage_event: bytes) -> bytes:
    """Put the usage chunk's fingerprint where it stands without a usage chunk."""
    end = finished.rfind(b"}")
    if end < 0 or _FINGERPRINT in finished or _FINGERPRINT not in usage_event:
        return finished
    try:
        fingerprint = orjson.loads(sse.data(usage_event.rstrip(b"\r\n")))["system_fingerprint"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return finished
    if fingerprint is None:
        return finished
    return finished[:end] + b"," + _FINGERPRINT + b":" + orjson.dumps(fingerprint) + finished[end:]
