"""SGLang: ratios of an interval of decoding, over all requests.

    [2026-09-27 09:19:23 TP0] Decode batch, #running-req: 4, …, accept len: 2.70, accept rate: 0.57

`accept len` is emitted tokens per verification, the target's own token included; `accept rate`
accepted per drafted tokens. Neither comes with its counts, so intervals cannot be added up.
Source: python/sglang/srt/managers/scheduler_metrics_mixin.py.
"""

from __future__ import annotations

import re

from specmeter.serverlog.entry import Entry, Found
from specmeter.serverlog.lines import Origin, before, end_of_line, is_text, origin
from specmeter.serverlog.numbers import printed

SERVER = "SGLang"

_MARKER = b"Decode batch"
_LENGTH = re.compile(rb"accept len: *([^\s,]+),")  # without the comma it was cut off
_RATE = re.compile(rb"accept rate: *([^\s,]+),")
_NAME = b"accept len"


class SGLang:
    """Reads blocks of lines, and gives out a record an interval."""

    def __init__(self) -> None:
        self.unreadable = 0
        """Lines whose ratios cannot be read."""
        self.plain = 0
        """Intervals without any: speculation is off."""

    def read(self, block: bytes) -> list[tuple[int, Entry]]:
        """Return the intervals in this block, each with its position."""
        found = []
        position = block.find(_MARKER)
        while position >= 0:
            end = end_of_line(block, position)
            where = origin(before(block, position))
            if not is_text(where.rest):
                entry = self._interval(where, block[position:end])
                if entry is not None:
                    found.append((position, entry))
            position = block.find(_MARKER, end)
        return found

    def _interval(self, where: Origin, text: bytes) -> Entry | None:
        length, rate = _LENGTH.search(text), _RATE.search(text)
        mean = printed(length[1]) if length else None
        if mean is None:
            named = _NAME in text
            self.unreadable += named
            self.plain += not named
            return None
        ratio = printed(rate[1]) if rate else None
        found = Found(server=SERVER, origin=where, is_window=True, mean=mean, ratio=ratio)
        return found.entry()

    def close(self) -> list[Entry]:
        """Return nothing: an interval is one line."""
        return []
