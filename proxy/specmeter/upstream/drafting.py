"""Is speculation on? What a server says of it, and what its completions show."""

from __future__ import annotations

from collections import deque
from enum import StrEnum

from specmeter.reading import Speculation

RECENT_COMPLETIONS = 50
"""How many completions that report are looked back on."""


class Drafting(StrEnum):
    """What is known of an upstream's speculation."""

    CONFIGURED = "configured"
    """The server says that it is on; no completion has shown it yet."""
    DRAFTING = "drafting"
    """Something was drafted in one of the last completions."""
    NO_CANDIDATE = "no_candidate"
    """On, and yet nothing was drafted in any of the last completions."""
    OFF = "off"
    """The server says that it is off."""
    UNKNOWN = "unknown"
    """Neither the server nor a completion tells."""


class DraftingWatch:
    """Follows one upstream."""

    def __init__(self) -> None:
        self.configured: bool | None = None
        """Whether the server says that it speculates; `None` if it does not say."""
        self._recent: deque[bool] = deque(maxlen=RECENT_COMPLETIONS)

    def saw(self, speculation: Speculation) -> None:
        """Take note of a completion."""
        if speculation is not Speculation.NOT_REPORTED:
            self._recent.append(speculation is Speculation.DRAFTED)

    @property
    def state(self) -> Drafting:
        """What is known now."""
        if any(self._recent):
            return Drafting.DRAFTING
        if self.configured is None:
            return Drafting.UNKNOWN
        if not self.configured:
            return Drafting.OFF
        return Drafting.NO_CANDIDATE if self._recent else Drafting.CONFIGURED
