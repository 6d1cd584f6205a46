"""Cuts one member out of a JSON text, and leaves every other byte as it is."""

from __future__ import annotations

import json
from typing import NamedTuple

_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """Where a member stands: `,"name":{...}`."""

    start: int
    """Of its comma."""
    value: int
    """Of its value."""
    end: int
    """One past its value."""


def last_member(text: bytes, name: bytes) -> Member | None:
    """Find the last member of that name whose value is an object; `None` if there is none.

    A quote within a string is escaped, so what is found is a member and no text. It may stand
    within another member. The text is taken to be compact, as servers write it.
    """
    opening = b',"%b":{' % name
    start = text.rfind(opening)
    if start < 0:
        return None
    value = start + len(opening) - 1
    try:
        tail = text[value:].decode()
        _, length = _DECODER.raw_decode(tail)
    except (UnicodeDecodeError, ValueError, RecursionError):
        return None
    return Member(start, value, value + len(tail[:length].encode()))
