"""What is copied off a response while it passes, for reading once it has ended."""

from __future__ import annotations

from typing import Protocol

from specmeter.fault import Fault
from specmeter.transcript.body import BodyTranscript
from specmeter.transcript.copied import Copied, CopiedBody, CopiedStream
from specmeter.transcript.stream import StreamTranscript

__all__ = [
    "BodyTranscript",
    "Copied",
    "CopiedBody",
    "CopiedStream",
    "StreamTranscript",
    "Transcript",
]


class Transcript(Protocol):
    """What a copy can be had of."""

    def copied(self) -> Copied | Fault:
        """Return what is there to be read; nothing comes any more."""
