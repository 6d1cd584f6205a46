"""A fault of specmeter itself, as the log may tell it."""

from __future__ import annotations

import traceback

import msgspec


class Fault(msgspec.Struct, frozen=True, array_like=True, tag="fault"):
    """What went wrong, and where; not the error's text, which may hold a piece of what was read."""

    kind: str
    where: str

    @classmethod
    def of(cls, error: Exception) -> Fault:
        """Return what may be told of an error."""
        return cls(type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))

    def __str__(self) -> str:
        """Return it for the log, over several lines."""
        return f"{self.kind}\n{self.where}"

    def copied(self) -> Fault:
        """Return itself: it is what is left of an answer whose copying failed."""
        return self
