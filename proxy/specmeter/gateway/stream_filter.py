"""Takes out of a stream what was put into it by asking for usage.

vLLM reports in streams only on a last chunk that the request must ask for
(`stream_options.include_usage`). Asking changes two things: that chunk is added, and the
`system_fingerprint` moves to it from the chunk with the finish reason (vLLM's
entrypoints/openai/chat_completion/serving.py). Both are undone, so that the client's stream is
byte for byte what it would have been.
"""

from __future__ import annotations

import orjson

from specmeter import sse

_FINISHED = b'"finish_reason":"'
_NO_CHOICES = b'"choices":[]'
_USAGE = b'"usage":{'
_FINGERPRINT = b'"system_fingerprint"'
_MAX_HELD_BYTES = 4 * 1024 * 1024
"""An event longer than this is passed on as it comes."""


class UsageFilter:
    """Passes a stream on event by event, without the usage chunk.

    The chunk with the finish reason is held until the next event has come: vLLM sends the usage
    chunk right behind it. A server that sends usage on every chunk (`--enable-force-include-usage`)
    would send it unasked; then nothing is taken out.
    """

    def __init__(self) -> None:
        self._partial = bytearray()
        self._held = b""
        self._off = False

    def feed(self, piece: bytes) -> bytes:
        """Take a piece of the stream; return what can be passed on."""
        return piece if self._off else self._filtered(piece)

    def _filtered(self, piece: bytes) -> bytes:
        self._partial += piece
        passed: list[bytes] = []
        start = 0
        while not self._off and (end := sse.end_of_first_event(self._partial, start)) >= 0:
            passed.append(self._event(bytes(self._partial[start:end])))
            start = end
        del self._partial[:start]
        if len(self._partial) > _MAX_HELD_BYTES:
            self._off = True
        if self._off:
            passed.append(self.flush())
        return b"".join(passed)

    def flush(self) -> bytes:
        """Return what is still held: the stream has ended, whole or broken."""
        rest = self._held + bytes(self._partial)
        self._held = b""
        self._partial.clear()
        return rest

    def _event(self, event: bytes) -> bytes:
        held, self._held = self._held, b""
        if _USAGE in event:
            if _NO_CHOICES not in event:
                self._off = True  # usage on a chunk with content: the server's own habit
                return held + event
            return _with_fingerprint(held, event)
        if _FINISHED in event:
            self._held = event
            return held
        if held and event.startswith(b":"):
            self._held = held + event  # a ping says nothing of what comes next
            return b""
        return held + event


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
