"""SGLang: ratios of an interval of decoding, over all requests.

    [2026-09-27 09:19:23 TP0] Decode batch, #running-req: 4, …, accept len: 2.70, accept rate: 0.57

`accept len` is emitted tokens per verification, the target's own token included; `accept rate`
accepted per drafted tokens. Neither comes with its counts, so intervals cannot be added up.
Source: python/sglang/srt/managers/scheduler_metrics_mixin.py.
"""

from __future__ import annotations

import re

from specmeter.serverlog.entry import Entry, Found
from specmeter.serverlog.lines import end_of_line, origin, start_of_line
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
            length, rate = _LENGTH.search(block, position, end), _RATE.search(block, position, end)
            mean, ratio = printed(length and length[1]), printed(rate and rate[1])
            if block.find(_NAME, position, end) < 0:
                self.plain += 1
            elif mean is None:
                self.unreadable += 1
            else:
                where = origin(block[start_of_line(block, position) : position])
                entry = Found(
                    server=SERVER, origin=where, is_window=True, mean=mean, ratio=ratio
                ).entry()
                found.append((position, entry))
            position = block.find(_MARKER, end)
        return found

    def close(self) -> list[Entry]:
        """Return nothing: an interval is one line."""
        return []
