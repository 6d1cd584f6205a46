"""Records that hold what clients and servers sent, and show nothing of it."""

from __future__ import annotations


class Discreet:
    """Shown by its name alone, whoever logs it: an event loop does when a callback fails."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Name the class."""
        return f"<{type(self).__name__}>"
