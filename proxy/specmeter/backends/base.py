"""What a backend is: the one place that knows a server kind's wire format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from specmeter.backends.injection import Injection
from specmeter.reading import RawNumbers
from specmeter.unread import Unread

Message = dict[str, Any]
"""One JSON object of a response: the body, or the data of one event."""


class Extract(msgspec.Struct, frozen=True):
    """The numbers a backend found in one response."""

    numbers: tuple[RawNumbers, ...] = ()
    """One for each choice with numbers of its own."""
    unread: Unread | None = None


class Backend(Protocol):
    """A server kind."""

    @property
    def name(self) -> str:
        """The kind, as the configuration and `specmeter_upstream_info` spell it."""

    @property
    def markers(self) -> tuple[bytes, ...]:
        """Bytes of which at least one is in every event that carries numbers."""

    @property
    def injection(self) -> Injection | None:
        """What its requests may be asked for in addition; `None` where it reports unasked."""

    def recognises(self, message: Message) -> bool:
        """Whether this message can only come from this kind of server."""

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Find the numbers in a response's messages, which are in order."""
