"""The numbers of a log line: text that may be cut off, mistyped or absurd."""

from __future__ import annotations

from typing import Any

import msgspec

_NOTHING = frozenset((b"null", b"nil", b"None"))
_MOST = 1e12
_HALF_UNITS = tuple(0.5 * 10.0**-digits for digits in range(19))


class Printed(msgspec.Struct, frozen=True, gc=False):
    """A ratio as a log prints it."""

    value: float
    error: float
    """Half a unit of its last digit: how far off the rounding may be."""

    @property
    def low(self) -> float:
        """The least number that is printed like this."""
        return self.value - self.error

    @property
    def high(self) -> float:
        """The greatest number that is printed like this."""
        return self.value + self.error


def number(token: bytes | None) -> Any:
    """Read a count or time: a number if it is one, else its text, which no check lets pass."""
    if token is None:
        return None
    try:
        return int(token)  # nearly always it is one
    except ValueError:
        pass
    if token in _NOTHING:
        return None
    try:
        return float(token)
    except ValueError:
        return token.decode("utf-8", "replace")


def milliseconds(token: bytes | None) -> Any:
    """Read a time, as `number` does."""
    try:
        return None if token is None else float(token)
    except ValueError:
        return number(token)


def printed(token: bytes | None, scale: float = 1.0) -> Printed | None:
    """Read a ratio.

    Args:
        token: Its digits.
        scale: 0.01 for per cent.

    Returns:
        `None` if it is no number of 0 or more.
    """
    if token is None:
        return None
    try:
        value = float(token)
    except ValueError:
        return None
    if not 0 <= value <= _MOST:
        return None
    digits = len(token.partition(b".")[2])
    error = _HALF_UNITS[min(digits, len(_HALF_UNITS) - 1)] * scale
    value *= scale
    return Printed(value, error + value * 1e-9)


def ratios(token: bytes | None) -> tuple[Printed, ...] | None:
    """Read a list of ratios; `None` if one of them is none, or there are none."""
    if token is None:
        return None
    read = [printed(item.strip()) for item in token.split(b",") if item.strip()]
    known = tuple(item for item in read if item is not None)
    return known if known and len(known) == len(read) else None


def fits(ratio: Printed, numerator: int, denominator: int) -> bool:
    """Tell whether a printed ratio can be of these counts (one unit of the last digit off)."""
    return abs(numerator / denominator - ratio.value) <= 2 * ratio.error
