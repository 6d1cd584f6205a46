"""Loggers that write a JSON object a line: the message, behind the time and name in the object.

llama.cpp's `--log-jsonl`, Docker's json-file, `journalctl -o json`, structured loggers; also one
inside the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson

_MESSAGES = ("msg", "message", "MESSAGE", "log", "event", "text")
_TIMES = ("time", "ts", "timestamp", "@timestamp", "__REALTIME_TIMESTAMP")
_NAMES = ("container_name", "CONTAINER_NAME", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*\Z")
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\Z")
_BRACE = b"{"  # a single byte is found much faster than two
_OBJECT = b'{"'
_DEEPEST = 3
_DIGITS = 20
_LONGEST_UPTIME = 1e14  # microseconds: three years
_EPOCH_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (1e8, 1.0))  # from value, units a second


def unwrapped(block: bytes, is_bare: Callable[[bytes], bool]) -> bytes:
    """Put the message in the place of every JSON object that is a whole line.

    Args:
        block: Whole lines.
        is_bare: Tells of the text before an object whether it is other programs' prefix only.
    """
    parts: list[bytes] = []
    done = 0
    position = block.find(_BRACE)
    while position >= 0:
        end = block.find(b"\n", position)
        start = block.rfind(b"\n", 0, position) + 1
        line = block[position:end]
        if line.startswith(_OBJECT) and (start == position or is_bare(block[start:position])):
            text = _text(line, 0)
            if text is not None:
                parts += (block[done:position], text.encode("utf-8", "replace"))
                done = end
        position = block.find(_BRACE, end)
    return b"".join((*parts, block[done:])) if parts else block


def _text(line: bytes | str, depth: int) -> str | None:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(record, dict):
        return None
    message = _message(record)
    if message is None:
        return None
    if message.startswith('{"') and depth < _DEEPEST:
        message = _text(message, depth + 1) or message
    if "decode stats" in message:  # the numbers are keys of the object
        numbers = ((key, value) for key, value in record.items() if _is_number(value))
        message += "".join(f" {key}={value}" for key, value in numbers)
    if "\n" in message:
        message = message.replace("\n", " ")
    return f"{_source(record)}{_time(record)}{message}"


def _message(record: dict[str, Any]) -> str | None:
    for key in _MESSAGES:
        value = record.get(key)
        if isinstance(value, str):
            return value.rstrip("\n")
        if key == "MESSAGE" and isinstance(value, list):  # journald's form for odd bytes
            try:
                return bytes(value).decode("utf-8", "replace").rstrip("\n")
            except (TypeError, ValueError):
                return None
    return None


def _source(record: dict[str, Any]) -> str:
    for key in _NAMES:
        name = record.get(key)
        if isinstance(name, str) and _NAME.match(name):
            return f"{name} | "
    return ""


def _time(record: dict[str, Any]) -> str:
    value: Any = None
    for key in _TIMES:
        value = record.get(key)
        if value is not None:
            break
    if isinstance(value, str):
        if _ISO.match(value):
            return f"{value} "
        if value.isascii() and value.isdigit() and len(value) < _DIGITS:
            value = int(value)
    elif type(value) is int and 0 <= value < _LONGEST_UPTIME and record.get("type") == "log":
        return _uptime(value)
    if not _is_number(value):
        return ""
    for least, unit in _EPOCH_UNITS:
        if least <= value < least * 1e3:
            moment = datetime.fromtimestamp(value / unit, UTC)
            return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z "
    return ""


def _uptime(micros: int) -> str:
    """Write llama.cpp's microseconds since its start as its text log does."""
    seconds, millis = micros // 1_000_000, micros // 1000 % 1000
    return f"{seconds // 60}.{seconds % 60:02}.{millis:03}.{micros % 1000:03} I "


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
