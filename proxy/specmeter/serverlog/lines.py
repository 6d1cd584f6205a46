"""What other programs put in front of a server's lines: who wrote the line, and when.

Docker, docker compose, Kubernetes, journald, llama-swap, llama.cpp's router and the servers' own
loggers, in any order: `llama-1  | 2026-11-29T10:00:00Z [54321] 0.12.345.678 I slot …`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import msgspec

from specmeter.discreet import Discreet
from specmeter.serverlog import json_lines

_MOST_LAYERS = 8
_LONGEST_NAME = 60
_TEXT = b"{"  # requests and answers are JSON
_MOST_PREFIX = 400  # bytes; more than that is no prefix, but text

_LAYER = re.compile(
    rb"""\s*(?:
      (?P<uptime>\d+\.\d\d\.\d{3}\.\d{3})\ [A-Z]\s                       # llama.cpp
    | \[?(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)
      (?:(?P<ranks>(?:\ [A-Z]+\d+)+)?\])?(?:\ *\|)?(?:\s|\Z)             # ISO, SGLang, llama-swap
    | (?P<syslog>[A-Z][a-z]{2}\ [ \d]\d\ \d\d:\d\d:\d\d(?:\.\d+)?)
      \ (?P<unit>\S+\ [^\s\[\]:|]+)(?:\[\d+\])?:\s                       # journald
    | (?P<isounit>[\w.-]+\ [^\s\[\]:|]+)\[\d+\]:\s                       # journald -o short-iso
    | (?P<container>[A-Za-z0-9][\w.-]*)\ +\|(?:\s|\Z)                    # docker compose
    | \[(?P<child>\d{2,5})\]\s                                           # llama.cpp's router
    | \[(?P<pod>[\w.-]+/[\w./-]+)\]\s                                    # kubectl logs --prefix
    | (?P<file>[\w./-]+\.(?:log|txt|out))[:-](?:\d+[:-])?                # grep -H, grep -Hn
    | \d{1,9}[:-](?=[ a-z\[{]|\d+\.\d\d\.)                             # grep -n
    | (?:stdout|stderr)\ [FP]\s                                          # containerd
    | time=(?P<slog>[\dT:.Z+-]+)\ level=\S+\ (?:source=\S+\ )?(?:msg=)?"? # Ollama
    | \((?P<process>\w+)(?:\ pid=\d+)?\)\s                               # vLLM
    | (?P<short>\d\d-\d\d\ \d\d:\d\d:\d\d)\s                             # vLLM
    | \[?[\w./-]+:\d+\]\s                                                # vLLM's [metrics.py:101]
    | (?P<rank>(?:[A-Z]+\d+\ ?)+)\]\s                                    # SGLang behind a logger
    | \[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|LOG)\]?(?::|\s|\Z)\s*
    )""",
    re.VERBOSE,
)
_CLOCKS = frozenset(("time", "slog", "short"))
_WITH_A_CLOCK = {"ranks": "time", "unit": "syslog"}  # groups of the same alternative
_DIGITS = re.compile(rb"(\\?[.,])\d+|\d")  # a fraction, of any length, or one digit
_COLOURS = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Shape(NamedTuple):
    """How lines are wrapped."""

    wrapper: bytes
    """The expression of it: the same names, at any time."""
    has_uptime: bool
    """Whether llama.cpp's own clock follows."""


class Origin(Discreet, msgspec.Struct, frozen=True, gc=False):
    """Where a line comes from."""

    source: str | None
    """The container, unit, child or rank that wrote it; `None` if nothing tells."""
    time: str | None
    """As it is printed: a date and time if there is one, else since the server's start."""
    rest: bytes
    """What is left of the prefix: the server's own words."""


def plain(block: bytes) -> bytes:
    """Take colours, JSON objects, carriage returns and zero bytes off the lines of a block."""
    if b"\0" in block:
        block = block.replace(b"\0", b"")
    if b"\x1b" in block:
        block = _COLOURS.sub(b"", block)
    if b"{" in block:
        block = json_lines.unwrapped(block, is_bare)
        if b"\x1b" in block:
            block = _COLOURS.sub(b"", block)
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    return block


def origin(prefix: bytes) -> Origin:
    """Read what stands before the words of interest on a line."""
    if not prefix or len(prefix) > _MOST_PREFIX:
        return Origin(None, None, prefix)
    position = 0
    sources: tuple[bytes, ...] = ()
    time = uptime = None
    for _ in range(_MOST_LAYERS):
        layer = _LAYER.match(prefix, position)
        if layer is None:
            break
        position = layer.end()
        name = layer.lastgroup
        if name == "uptime":
            uptime = layer[name]
        elif name in _CLOCKS:
            time = time or layer[name]
        elif name is not None:
            sources += (layer[name],)
            if name in _WITH_A_CLOCK:
                time = time or layer[_WITH_A_CLOCK[name]]
    printed = time or uptime
    return Origin(
        _name(sources) if sources else None,
        printed.decode("ascii", "replace") if printed else None,
        prefix[position:].strip(),
    )


def shape(prefix: bytes) -> Shape:
    """Tell how a line like this one is wrapped."""
    position = 0
    parts: list[bytes] = []
    name: str | None = ""
    for _ in range(_MOST_LAYERS):
        layer = _LAYER.match(prefix, position)
        if layer is None:
            break
        name = layer.lastgroup or ""
        if name == "uptime":
            break
        clock = _WITH_A_CLOCK.get(name, name if name in _CLOCKS else None)
        start, end = layer.span(clock) if clock else (layer.end(), layer.end())
        digits = _DIGITS.sub(_any_digit, re.escape(prefix[start:end]))
        parts += (
            re.escape(prefix[position:start]),
            digits,
            re.escape(prefix[end : layer.end()]),
        )
        position = layer.end()
    return Shape(b"".join(parts), name == "uptime")


def is_bare(prefix: bytes) -> bool:
    """Tell whether nothing but other programs' words stands before a JSON object."""
    return not prefix or not origin(prefix).rest


def before(block: bytes, position: int) -> bytes:
    """Return what stands before this position on its line.

    What is too long for a log's prefix is somebody's text, and not worth being looked through: a
    brace stands for it.
    """
    start = block.rfind(b"\n", max(0, position - _MOST_PREFIX), position) + 1
    return block[start:position] if start or position < _MOST_PREFIX else _TEXT


def is_text(rest: bytes) -> bool:
    """Tell whether the own words of a prefix are the beginning of somebody's text, not a log's."""
    return _TEXT in rest or b"\\" in rest


def end_of_line(block: bytes, position: int) -> int:
    """Return where the line's end is that follows this position."""
    end = block.find(b"\n", position)
    return len(block) if end < 0 else end


def _any_digit(match: re.Match[bytes]) -> bytes:
    return rb"\d" if match[1] is None else match[1] + rb"\d+"


def shown(name: bytes) -> str:
    """Make a name from a log fit for a terminal: printable, and not endless."""
    text = name.decode("utf-8", "replace").strip()
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:_LONGEST_NAME]


@lru_cache(maxsize=1024)
def _name(sources: tuple[bytes, ...]) -> str | None:
    # vLLM's one API server is no source of its own.
    return "/".join(shown(source) for source in sources if source != b"APIServer") or None
