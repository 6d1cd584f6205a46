"""Read logs as the command does, and the lines that the tests make logs of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from specmeter.serverlog.entry import Entry
from specmeter.serverlog.reader import LogReader

CAPTURES = Path(__file__).parents[1] / "captures"


@dataclass(frozen=True)
class Log:
    """What was read."""

    entries: list[Entry]
    reader: LogReader

    @property
    def only(self) -> Entry:
        (entry,) = self.entries
        return entry

    @property
    def counters(self) -> tuple[int, ...]:
        reader = self.reader
        return (
            reader.lines,
            reader.unreadable,
            reader.repeated,
            reader.untimed,
            reader.too_long,
        )


def read(*pieces: bytes) -> Log:
    """Read a log that comes in these pieces."""
    reader = LogReader()
    entries = [entry for piece in pieces for entry in reader.feed(piece)]
    return Log([*entries, *reader.close()], reader)


def pieces(log: bytes, places: Iterable[int]) -> list[bytes]:
    """Cut a log at these places."""
    edges = [0, *sorted(min(place, len(log)) for place in places), len(log)]
    return [log[start:end] for start, end in pairwise(edges)]


def capture(name: str) -> bytes:
    return (CAPTURES / name / "server.log").read_bytes()


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


UPTIME = "0.12.345.678 I "

PROMPT = (
    "prompt eval time =     120.50 ms /    41 tokens "
    "(    2.94 ms per token,   340.25 tokens per second)"
)
EVAL = (
    "       eval time =    1600.00 ms /   129 tokens "
    "(   12.50 ms per token,    80.00 tokens per second)"
)
TOTAL = "      total time =    1720.50 ms /   170 tokens"
GRAPHS = "   graphs reused =         63"
DRAFT = "draft acceptance = 0.33333 (   64 accepted /   192 generated), mean len =  2.00"
POSITIONS = "     acc per pos = (0.625, 0.266, 0.109)"
STATISTICS = (
    "statistics        draft-mtp: #calls(b,g,a) =    3    200    190, #gen drafts =    190, "
    "#acc drafts =   120, #gen tokens =    570, #acc tokens =   210, #mean acc len = 2.11, "
    "#acc rate/pos = (0.632, 0.300, 0.174), dur(b,g,a) = 0.010, 900.100, 0.200 ms"
)
RELEASE = "stop processing: n_tokens = 169, truncated = 0"


def timing(text: str, slot: int = 0, task: int = 12) -> str:
    """Write a line of llama.cpp's with the slot's head."""
    return f"slot print_timing: id {slot:2} | task {task} | {text}"


def release(slot: int = 0, task: int = 12) -> str:
    return f"slot      release: id {slot:2} | task {task} | {RELEASE}"


def new_form(slot: int = 0, task: int = 12, *, drafts: str | None = DRAFT) -> list[str]:
    """Write a request as llama.cpp does since May 2026, without its clock."""
    texts = [PROMPT, EVAL, TOTAL, GRAPHS]
    texts += [] if drafts is None else [drafts]
    return [*(timing(text, slot, task) for text in texts), release(slot, task)]


def old_form(slot: int = 0, task: int = 12, *, drafts: str | None = None) -> list[str]:
    """Write a request as llama.cpp did before: the head on a line of its own."""
    texts = [PROMPT, EVAL, TOTAL] + ([] if drafts is None else [drafts])
    return [timing("", slot, task), *texts, release(slot, task)]
