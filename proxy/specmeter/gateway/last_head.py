"""Knows a head again that was read before on the same connection.

Who sends many messages on one connection sends the same head over and over, but for the length of
the body. What was made of it once, and found in order, need not be made again.
"""

from __future__ import annotations

import re
from typing import Generic, TypeVar

import msgspec

from specmeter.gateway.http1 import MAX_LENGTH_DIGITS

Made = TypeVar("Made")

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]+)\r\n", re.IGNORECASE)

MAX_KEPT_BYTES = 8 * 1024
"""A longer head is not kept."""


class Known(msgspec.Struct, Generic[Made], frozen=True, gc=False):
    """A head that was known again."""

    made: Made
    """What was made of the one before."""
    length: int | None
    """The Content-Length that it has now; `None` if it has none."""
    end: int
    """One past its blank line."""


class LastHead(Generic[Made]):
    """The last head of a connection, with its blank line, and what was made of it."""

    def __init__(self) -> None:
        self._made: Made | None = None
        self._before = b""
        """Up to the digits of the length, or all of it if there is no length."""
        self._after: bytes | None = None
        """From the digits on."""

    def keep(self, block: bytes, made: Made) -> None:
        """Keep a head that was found in order, and what was made of it."""
        self._made = None
        if len(block) > MAX_KEPT_BYTES:
            return
        lengths = list(_LENGTH.finditer(block))
        if len(lengths) > 1 or len(lengths) != block.lower().count(b"content-length"):
            return  # such as one with blanks behind its digits
        if lengths:
            start, end = lengths[0].span(1)
            self._before, self._after = block[:start], block[end:]
        else:
            self._before, self._after = block, None
        self._made = made

    def find(self, data: bytes) -> Known[Made] | None:
        """Return the head that `data` begins with, if it is the last one but for its length."""
        made, start = self._made, len(self._before)
        if made is None or not data.startswith(self._before):
            return None
        if self._after is None:
            return Known(made, None, start)
        end = data.find(b"\r", start, start + MAX_LENGTH_DIGITS)
        digits = data[start:end] if end >= 0 else b""
        if not digits.isdigit() or not data.startswith(self._after, end):
            return None
        return Known(made, int(digits), end + len(self._after))
