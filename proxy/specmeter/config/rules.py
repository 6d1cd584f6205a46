"""Rules: what one value in the configuration may be.

A rule takes whatever was written, and gives it back in its proper type or raises a ConfigError that
names the value and the remedy. The name of the key is put before it by whoever calls.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from specmeter.config.address import parse_address, parse_target
from specmeter.errors import ConfigError

Rule: TypeAlias = Callable[[object], Any]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_KEY_BEGINNINGS = ("sk-", "hf_", "Bearer ")
_LONGEST_SHOWN = 80


def text(value: object) -> str:
    """Accept any text on one line."""
    if not isinstance(value, str):
        raise ConfigError(f"{shown(value)} is not text: write it in quotes")
    if _CONTROL.search(value):
        raise ConfigError(f"{shown(value)} holds a control character: take it out")
    return value


def address(value: object) -> str:
    """Accept HOST:PORT."""
    parse_address(text(value))
    return str(value)


def url(value: object) -> str:
    """Accept the address of an upstream, http or https."""
    if isinstance(value, str):
        parse_target(value)
    return text(value)


def name(value: object) -> str:
    """Accept what may be a label: a short name without blanks."""
    if not _NAME.fullmatch(text(value)):
        raise ConfigError(
            f"{shown(value)} is not a name: write 1 to 64 letters, digits, dots, dashes or "
            "underscores"
        )
    return str(value)


def header_name(value: object) -> str:
    """Accept the name of an HTTP header, or nothing."""
    if value and not _TOKEN.fullmatch(text(value)):
        raise ConfigError(f'{shown(value)} is no header\'s name: write one as "x-session-id"')
    return text(value)


def names(value: object) -> tuple[str, ...]:
    """Accept a list of model names, each one once."""
    if not isinstance(value, list | tuple):
        raise ConfigError(f'{shown(value)} is not a list: write it as ["name", "name"]')
    checked = tuple(text(item) for item in value)
    for item in checked:
        if item != item.strip() or not item:
            raise ConfigError(f"{shown(item)} is empty or has blanks around it: take them out")
        if checked.count(item) > 1:
            raise ConfigError(f"{shown(item)} is listed twice: list it once")
    return checked


def switch(value: object) -> bool:
    """Accept true or false."""
    if not isinstance(value, bool):
        raise ConfigError(f"{shown(value)} is neither true nor false: write one, without quotes")
    return value


def key_file(value: object) -> str:
    """Accept the path of a file that holds a key, but not the key itself."""
    path = text(value)
    if path.startswith(_KEY_BEGINNINGS):
        raise ConfigError("this is a key, not a path: write the key to a file and name that file")
    return path


def choice(options: tuple[str, ...]) -> Rule:
    """Make a rule that accepts one of several words."""

    def check(value: object) -> str:
        if value not in options:
            hint = did_you_mean(str(value).lower(), options)
            raise ConfigError(f"{shown(value)} is not one of {', '.join(options)}{hint}")
        return str(value)

    return check


def seconds(low: float, high: float) -> Rule:
    """Make a rule that accepts a number of seconds from low to high."""

    def check(value: object) -> float:
        remedy = f"write seconds, {low:g} to {high:g}"
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ConfigError(f"{shown(value)} is not a number: {remedy}")
        if not low <= value <= high:  # also true of nan
            raise ConfigError(f"{shown(value)} is out of range: {remedy}")
        return float(value)

    return check


def share(most: float) -> Rule:
    """Make a rule that accepts a share from 0 to some most."""
    return _number(most, f"write a share, 0 to {most:g}")


def amount(most: float) -> Rule:
    """Make a rule that accepts a number from 0 to some most."""
    return _number(most, f"write 0 to {most:.0f}")


def _number(most: float, remedy: str) -> Rule:
    def check(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ConfigError(f"{shown(value)} is not a number: {remedy}")
        if not 0 <= value <= most:  # also true of nan
            raise ConfigError(f"{shown(value)} is out of range: {remedy}")
        return float(value)

    return check


def whole(low: int, high: int) -> Rule:
    """Make a rule that accepts a whole number from low to high."""

    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(f"{shown(value)} is not a whole number: write {low} to {high}")
        if not low <= value <= high:
            raise ConfigError(f"{shown(value)} is out of range: write {low} to {high}")
        return value

    return check


def did_you_mean(word: str, known: Iterable[str], *, prefix: str = "") -> str:
    """Suggest the known word that comes closest, behind a prefix; empty if none is close."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {prefix}{close[0]}?" if close else ""


def shown(value: object) -> str:
    """Write a value as it stands in a file: on one line, and cut if it is long."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, float):
        return repr(value)
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= _LONGEST_SHOWN else f"{written[:_LONGEST_SHOWN]}…"
