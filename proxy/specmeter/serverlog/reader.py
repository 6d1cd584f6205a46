"""From bytes to records: every format at once, in the order of the lines."""

from __future__ import annotations

from typing import Protocol

from specmeter.serverlog.blocks import Blocks
from specmeter.serverlog.entry import Entry
from specmeter.serverlog.evidence import Evidence
from specmeter.serverlog.lines import plain
from specmeter.serverlog.llama_cpp import LlamaCpp
from specmeter.serverlog.ollama import Ollama
from specmeter.serverlog.sglang import SGLang
from specmeter.serverlog.tabby import Tabby
from specmeter.serverlog.vllm import VLLM


class Format(Protocol):
    """Reads one kind of server's lines."""

    @property
    def unreadable(self) -> int:
        """Lines that name numbers which cannot be read."""

    def read(self, block: bytes) -> list[tuple[int, Entry]]:
        """Return the records that end in this block of lines, each with a position in it."""

    def close(self) -> list[Entry]:
        """Return the records whose end the log does not have."""


class LogReader:
    """Takes in a log piece by piece, and gives out its records; the pieces may end anywhere."""

    def __init__(self) -> None:
        self.lines = 0
        self.evidence = Evidence()
        self.llama_cpp = LlamaCpp()
        self._blocks = Blocks()
        self._formats: tuple[Format, ...] = (
            self.llama_cpp,
            Ollama(),
            VLLM(),
            SGLang(),
            Tabby(),
        )
        self._has_drafts = False

    @property
    def unreadable(self) -> int:
        """Lines that name draft numbers which cannot be read."""
        return sum(known.unreadable for known in self._formats)

    @property
    def repeated(self) -> int:
        """Lines that were there twice."""
        return self.llama_cpp.repeated

    @property
    def untimed(self) -> int:
        """Requests that ended without their numbers."""
        return self.llama_cpp.untimed

    @property
    def too_long(self) -> int:
        """Lines left out because of their length."""
        return self._blocks.too_long

    def feed(self, data: bytes) -> list[Entry]:
        """Take in bytes, and return the records that ended in them."""
        return [entry for block in self._blocks.feed(data) for entry in self._read(block)]

    def close(self) -> list[Entry]:
        """Return what the end of the log leaves open."""
        entries = [entry for block in self._blocks.close() for entry in self._read(block)]
        return entries + [entry for known in self._formats for entry in known.close()]

    def _read(self, block: bytes) -> list[Entry]:
        self.lines += block.count(b"\n")
        block = plain(block)
        if not self._has_drafts:
            self.evidence.read(block)
        found = [records for known in self._formats if (records := known.read(block))]
        pairs = found[0] if found else []
        if len(found) > 1:
            # Each format's records are in order; a log of several servers has them mixed.
            pairs = sorted((pair for records in found for pair in records), key=_position)
        entries = [entry for _, entry in pairs]
        if not self._has_drafts:
            self._has_drafts = any(entry.reading.drafted for entry in entries)
        return entries


def _position(pair: tuple[int, Entry]) -> int:
    return pair[0]
