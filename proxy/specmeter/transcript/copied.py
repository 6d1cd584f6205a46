"""The copy of a response that has ended."""

from __future__ import annotations

import msgspec

from specmeter.discreet import Discreet


class CopiedBody(Discreet, msgspec.Struct, frozen=True, array_like=True, tag="body"):
    """Of a body that is one document."""

    document: bytes | None
    """`None` if it was too large to be kept."""

    def copied(self) -> CopiedBody:
        """Return itself: it is a transcript that was handed over."""
        return self


class CopiedStream(
    Discreet, msgspec.Struct, frozen=True, array_like=True, tag="stream", kw_only=True
):
    """Of a stream of events. Times are seconds on the clock of whoever copied it."""

    numbers: tuple[bytes, ...]
    """The data of the events that may carry numbers, in order."""
    last: bytes | None
    """The data of the last event with any, if it carries none of them."""
    is_incomplete: bool
    """Whether an event is missing that may have carried numbers: it was too large."""
    first_content_at: float | None
    """When the first event with generated content had come; `None` if none was seen."""
    last_content_at: float | None
    has_other_choices: bool
    """Whether it brought more outputs than one."""
    everything: tuple[bytes, ...] | None = None
    """The data of all events, if it was asked for and was not too large."""

    def copied(self) -> CopiedStream:
        """Return itself, as above."""
        return self


Copied = CopiedBody | CopiedStream
