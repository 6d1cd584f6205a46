"""What the data path hands on once a request has ended."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from specmeter.discreet import Discreet
from specmeter.gateway.failures import Reason
from specmeter.transcript import Transcript
from specmeter.unread import Unread

CLIENT_LEFT_CODE = 499
"""The `code` of a request whose client left before there was an answer, as nginx has it."""


class Ending(StrEnum):
    """How a request ended."""

    COMPLETE = "complete"
    CLIENT_LEFT = "client_left"
    UPSTREAM_FAILED = "upstream_failed"


class Replayable(Discreet, msgspec.Struct, frozen=True):
    """A request as its client sent it, kept in memory until it is replayed."""

    target: str
    """Path and query, percent-encoded."""
    body: bytes


class Exchange(Discreet, msgspec.Struct):
    """One request and its answer. Times are seconds on the loop's clock."""

    endpoint: str
    completion: bool
    """Whether it is a request for generated text, so that its answer is metered."""
    received_at: float
    upstream: str = ""
    """The upstream it went to; empty if it went to none."""
    request_id: bytes = b""
    code: int = CLIENT_LEFT_CODE
    """The HTTP status the client got."""
    ending: Ending = Ending.CLIENT_LEFT
    failure: Reason | None = None
    sent_at: float | None = None
    """When its head was out to the upstream."""
    waited_seconds: float = 0.0
    """Spent on waiting for the client to send what had to be looked at."""
    answered_at: float | None = None
    """When the head of the answer had come."""
    forwarded_at: float | None = None
    """When the head of the answer was on its way to the client."""
    ended_at: float = 0.0
    transcript: Transcript | None = None
    """What of an answer is to be read."""
    in_flight: float | None = None
    """Completions that the upstream worked on at the same time, this one included: their mean."""
    held_out_of: str = ""
    """The upstream that would have answered had the request not been held out."""
    asked_model: str | None = None
    """The model that a held-out request asked for."""
    replayable: Replayable | None = None
    """What is needed to replay the request; it was drawn for that."""
    unread: Unread | None = None
    """Why there is no copy although the answer should be read."""

    def start_over(self) -> None:
        """Forget an attempt of which the client has seen nothing."""
        self.held_out_of = ""
        self.code = CLIENT_LEFT_CODE
        self.ending = Ending.CLIENT_LEFT
        self.answered_at = self.forwarded_at = self.sent_at = None
        self.transcript = self.unread = None
        self.in_flight = None

    @property
    def overhead_seconds(self) -> float | None:
        """What specmeter itself added before the first byte; `None` if there was none."""
        if self.sent_at is None or self.answered_at is None or self.forwarded_at is None:
            return None
        there = self.sent_at - self.received_at - self.waited_seconds
        return max(there, 0.0) + (self.forwarded_at - self.answered_at)
