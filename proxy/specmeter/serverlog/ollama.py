"""Ollama's MLX runner: one line a request, `key=value`.

    … msg="speculative decode stats" iterations=57 drafted=108 accepted=70 acceptance=0.65 …

At INFO since v0.32.6, at DEBUG before. `iterations` counts every step of the target, plain ones
too, and each yields one token besides the accepted ones: tokens = iterations + accepted. Its
averages are per iteration. Source: x/mlxrunner/speculate_stats.go. v0.23.1 wrote `MTP decode
stats`, with the generated tokens. Ollama's GGUF runner is llama.cpp's server.
"""

from __future__ import annotations

import re

from specmeter.reading import MAX_TOKENS
from specmeter.serverlog.continued import Continued
from specmeter.serverlog.entry import Entry, Found
from specmeter.serverlog.lines import Origin
from specmeter.serverlog.numbers import number, printed

SERVER = "Ollama MLX"

_PAIR = re.compile(rb"([a-z_]+)=([^\s\"]+)")
_NEEDED = (b" iterations=", b" drafted=", b" accepted=", b" acceptance=")
_WORDS = (b"speculative", b"MTP")


class Ollama:
    """Reads blocks of lines, and gives out a record a request."""

    def __init__(self) -> None:
        self.unreadable = 0
        """Records without their numbers."""
        self._records = Continued(b"decode stats", _is_complete)

    def read(self, block: bytes) -> list[tuple[int, Entry]]:
        """Return the requests that end in this block, each with its position."""
        found = ((at, self._entry(where, text)) for at, where, text in self._records.read(block))
        return [(at, entry) for at, entry in found if entry is not None]

    def close(self) -> list[Entry]:
        """Return a request whose last line was not known to be it."""
        found = (self._entry(where, text) for where, text in self._records.close())
        return [entry for entry in found if entry is not None]

    def _entry(self, where: Origin, text: bytes) -> Entry | None:
        if not where.rest.endswith(_WORDS):
            return None
        values = dict(_PAIR.findall(text))
        known = [key.strip(b" =") in values for key in _NEEDED]
        if not all(known):
            self.unreadable += any(known)
            return None
        iterations, accepted = number(values[b"iterations"]), number(values[b"accepted"])
        drafted = number(values[b"drafted"])
        generated, steps = number(values.get(b"generated")), None
        if generated is None:
            generated = iterations
            if _is_count(iterations) and _is_count(accepted):
                generated, steps = iterations + accepted, iterations
        return Found(
            server=SERVER,
            origin=where,
            generated=generated,
            drafted=drafted,
            accepted=accepted,
            steps=steps,
            ratio=printed(values.get(b"acceptance")),
        ).entry()


def _is_complete(text: bytes) -> bool:
    return all(key in text for key in _NEEDED)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_TOKENS
