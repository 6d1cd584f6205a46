"""Finds a member in a JSON text, so that every other byte can stay as it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
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


def before(text: bytes, beginnings: Sequence[bytes]) -> int:
    """Return where the first of these begins, also where its end is cut off; else the end."""
    found = [at for one in beginnings if (at := text.find(one)) >= 0]
    for one in beginnings:
        for length in range(len(one) - 1, 2, -1):  # less of it tells nothing
            if text.endswith(one[:length]):
                found.append(len(text) - length)
                break
    return min(found, default=len(text))
