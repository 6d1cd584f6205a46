"""Cut a stream of bytes into blocks of whole lines, in constant memory."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

BLOCK = 1 << 19
"""Bytes looked at together: what the processor's cache holds."""

MAX_LINE = 1 << 20
"""Longer lines are no log lines: they are left out and counted."""


class Blocks:
    """Gives out whole lines, however the bytes come in; every block ends with a line's end.

    UTF-16, which a redirect in PowerShell writes, is told by its byte order mark.
    """

    def __init__(self) -> None:
        self.too_long = 0
        """Lines left out because of their length."""
        self._kept = b""  # the line that has not ended
        self._skips = False  # inside a line that is too long
        self._start: bytes | None = b""  # until it is known what the stream begins with
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take in bytes, and give out the lines that are complete now."""
        if self._start is not None:
            data = self._start + data
            if len(data) < len(codecs.BOM_UTF8):
                self._start = data
                return
            self._start = None
            data = self._begin(data)
        if self._decoder is not None:
            data = self._decoder.decode(data).encode()
        for start in range(0, len(data), BLOCK):
            yield from self._cut(data[start : start + BLOCK])

    def close(self) -> Iterator[bytes]:
        """Give out the last line, which no line's end follows."""
        kept = (self._start or b"") + self._kept
        self._start, self._kept = None, b""
        if kept:
            yield kept if kept.endswith(b"\n") else kept + b"\n"

    def _begin(self, data: bytes) -> bytes:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        return data.removeprefix(codecs.BOM_UTF8)

    def _cut(self, data: bytes) -> Iterator[bytes]:
        if self._skips:
            end = data.find(b"\n") + 1
            if not end:
                return
            self._skips = False
            data = data[end:]
        cut = data.rfind(b"\n") + 1
        block = b"".join((self._kept, memoryview(data)[:cut])) if cut else b""
        self._kept = data[cut:] if cut else self._kept + data
        if block:
            # A line this long spans two pieces, so only the first one can be.
            first = block.find(b"\n") + 1
            if first > MAX_LINE:
                self.too_long += 1
                block = block[first:]
        if len(self._kept) >= MAX_LINE:
            self.too_long += 1
            self._kept, self._skips = b"", True
        if block:
            yield block
