"""vLLM: one line for a window of some ten seconds, over all requests.

    SpecDecoding metrics: Mean acceptance length: 3.07, …, Accepted: 141 tokens, Drafted: 204
    tokens, Per-position acceptance rate: 0.897, 0.676, 0.500, Avg Draft acceptance rate: 69.1%

The order of the keys changed between versions. Drafts (rounds) are not printed, but follow from
the ratios. Tokens of steps without a draft are not counted, so output per target step is unknown.
Source: vllm/v1/spec_decode/metrics.py.

V0 wrote `Speculative metrics: …` with counters since the start: a window is the difference of two
lines. Its accepted tokens include right guesses behind a wrong one, so what a round brought back
is its emitted tokens. Source: vllm/spec_decode/metrics.py (v0.9).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from specmeter.reading import MAX_TOKENS
from specmeter.serverlog.entry import Entry, Found
from specmeter.serverlog.lines import Origin, before, end_of_line, is_text, origin
from specmeter.serverlog.numbers import fits, number, printed, ratios
from specmeter.serverlog.rounds import Rounds

SERVER = "vLLM"
SERVER_V0 = "vLLM V0"

_MARKER = b" metrics: "
_KINDS = {b"SpecDecoding": SERVER, b"Speculative": SERVER_V0}
_MOST_SOURCES = 1024
_KEY = re.compile(rb"([A-Z][A-Za-z -]*): *")
_COUNTERS = (b"number of accepted tokens", b"number of draft tokens", b"number of emitted tokens")
_PER_CENT = 0.01


class VLLM:
    """Reads blocks of lines, and gives out a record a window."""

    def __init__(self) -> None:
        self.unreadable = 0
        """Lines without their numbers."""
        self._counters: dict[str | None, tuple[int, int, int]] = {}  # of V0, by source

    def read(self, block: bytes) -> list[tuple[int, Entry]]:
        """Return the windows in this block, each with its position."""
        return list(self._windows(block)) if _MARKER in block else []

    def close(self) -> list[Entry]:
        """Return nothing: a window is one line."""
        return []

    def _windows(self, block: bytes) -> Iterator[tuple[int, Entry]]:
        position = block.find(_MARKER)
        while position >= 0:
            end = end_of_line(block, position)
            prefix, _, word = before(block, position).rpartition(b" ")
            kind = _KINDS.get(word)
            where = origin(prefix + b" ")
            if kind is not None and not is_text(where.rest):
                text = block[position + len(_MARKER) : end].rstrip()
                if kind == SERVER:
                    entry = self._window(where, _values(text))
                else:
                    entry = self._window_v0(where, _values(text), text)
                if entry is not None:
                    yield position, entry
            position = block.find(_MARKER, end)

    def _window(self, where: Origin, values: dict[bytes, bytes]) -> Entry | None:
        rate = values.get(b"avg draft acceptance rate") or values.get(b"draft acceptance rate")
        rates = ratios(values.get(b"per-position acceptance rate"))
        found = Found(
            server=SERVER,
            origin=where,
            is_window=True,
            drafted=number(_first(values.get(b"drafted"))),
            accepted=number(_first(values.get(b"accepted"))),
            ratio=printed(rate.rstrip(b"%"), _PER_CENT) if rate else None,
            mean=printed(values.get(b"mean acceptance length")),
            rates=rates,
            longest=len(rates) if rates else None,
        )
        if found.drafted is None and found.ratio is None:
            self.unreadable += 1
            return None
        return found.entry()

    def _window_v0(self, where: Origin, values: dict[bytes, bytes], text: bytes) -> Entry | None:
        accepted, drafted, emitted = (number(values.get(key)) for key in _COUNTERS)
        counts = all(type(count) is int for count in (accepted, drafted, emitted))
        rate = printed(values.get(b"draft acceptance rate"))
        if (
            not counts
            or not text.endswith(b".")  # without it the last number was cut off
            or (rate is not None and drafted > 0 and not fits(rate, accepted, drafted))
        ):
            self.unreadable += 1
            return None
        now = (accepted, drafted, emitted)
        before = self._counters.get(where.source, (0, 0, 0))
        if any(new < old for new, old in zip(now, before, strict=True)):
            before = (0, 0, 0)  # the server was started again
        if len(self._counters) < _MOST_SOURCES or where.source in self._counters:
            self._counters[where.source] = now
        if now == before:
            return None  # nothing ran
        accepted, drafted, emitted = (new - old for new, old in zip(now, before, strict=True))
        length = number(values.get(b"number of speculative tokens"))
        entry = Found(
            server=SERVER_V0, origin=where, is_window=True, drafted=drafted, accepted=accepted
        ).entry()
        if not entry.reading.drafted or type(length) is not int or length < 1:
            return entry
        if drafted % length or not drafted <= emitted * length <= MAX_TOKENS * length:
            return entry  # a round emits one token at least
        # Not among the reading's numbers: accepted / rounds would say more than was emitted.
        rounds = Rounds(drafted // length, drafted // length)
        return msgspec.structs.replace(entry, rounds=rounds, emitted=emitted)


def _values(text: bytes) -> dict[bytes, bytes]:
    """Return the values by their keys in small letters."""
    parts = _KEY.split(text)
    keys, values = parts[1::2], parts[2::2]
    return {
        key.strip().lower(): value.strip().rstrip(b",.").strip()
        for key, value in zip(keys, values, strict=True)
    }


def _first(value: bytes | None) -> bytes | None:
    """Return the number of `141 tokens`; `None` if it may have been cut off."""
    words = value.split() if value else []
    return words[0] if words[1:] == [b"tokens"] else None
