"""Events with numbers, as many as are needed to read a stream."""

from __future__ import annotations

import re
from collections import deque

_FIRST = 4
"""Anthropic's streams tell the prompt's tokens at the beginning."""
_FIRST_BYTES = 16 * 1024
_LATEST = 8
_CHOICES = 128
"""As many outputs may a request of OpenAI's ask for."""

_INDEX = re.compile(rb'"index":\s*(\d+)')
_NO_CHOICES = re.compile(rb'"choices":\s*\[\s*\]')


class KeptEvents:
    """Keeps the first events with numbers, the latest ones, and the last one of each choice.

    Most streams have no more than these. Those with numbers in every event repeat them, as sums so
    far, so that what lies between says nothing that the latest does not.

    Args:
        limit: The most bytes that are kept.
    """

    __slots__ = ("_first", "_latest", "_limit", "_of_each", "_size", "is_incomplete")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._first: list[bytes] = []
        self._of_each: dict[object, bytes] = {}
        """The last one of each choice, of those that are neither first nor latest."""
        self._latest: deque[bytes] = deque()
        self.is_incomplete = False
        """Whether one was not kept that may have been needed: they were too large."""

    def add(self, event: bytes) -> None:
        """Keep an event, and let go of what is not needed any more."""
        if len(event) > self._limit:
            self.is_incomplete = True
            return
        self._size += len(event)
        is_early = len(self._first) < _FIRST and not self._latest
        if is_early and self._size <= min(_FIRST_BYTES, self._limit):
            self._first.append(event)
            return
        self._latest.append(event)
        if len(self._latest) > _LATEST:
            self._displace(self._latest.popleft())
        while self._size > self._limit:
            self._let_go()

    def in_order(self) -> list[bytes]:
        """Return what was kept, in the order in which it came."""
        return [*self._first, *self._of_each.values(), *self._latest]

    def _displace(self, event: bytes) -> None:
        # A usage chunk names no choice: llama.cpp sends one for each.
        choice = event if _NO_CHOICES.search(event) else tuple(_INDEX.findall(event))
        self._size -= len(self._of_each.pop(choice, b""))
        self._of_each[choice] = event
        if len(self._of_each) > _CHOICES:
            self._let_go_of_oldest_choice()

    def _let_go_of_oldest_choice(self) -> None:
        self._size -= len(self._of_each.pop(next(iter(self._of_each))))
        self.is_incomplete = True

    def _let_go(self) -> None:
        """Make room: the newest is worth more than all before it."""
        if self._of_each:
            self._let_go_of_oldest_choice()
        elif len(self._latest) > 1:
            self._size -= len(self._latest.popleft())
            self.is_incomplete = True
        else:
            self._size -= len(self._first.pop())
            self.is_incomplete = True
