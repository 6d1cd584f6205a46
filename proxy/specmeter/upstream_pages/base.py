"""What an upstream's own metrics page says, in one vocabulary for all servers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec


class Name(StrEnum):
    """What is counted: the words of vLLM's schema, which llama.cpp has taken over."""

    DRAFTS = "num_drafts"
    DRAFT_TOKENS = "num_draft_tokens"
    ACCEPTED_TOKENS = "num_accepted_tokens"
    ACCEPTED_PER_POSITION = "num_accepted_tokens_per_pos"
    DRAFTED_PER_POSITION = "num_draft_tokens_per_pos"
    VERIFY_CALLS = "num_verify_calls"
    GENERATED_TOKENS = "generated_tokens"
    PROMPT_TOKENS = "prompt_tokens"


class Key(NamedTuple):
    """One counter of a page."""

    name: Name
    model: str | None
    """As the page calls it; `None` where it does not say."""
    position: int | None = None
    """In the draft, from 0."""
    part: str = ""
    """Which of several series of the same counter, such as one of vLLM's engines."""


class Value(NamedTuple):
    """A counter's number, which is never negative."""

    number: float
    quantum: float = 0.0
    """How far apart two printed numbers are at least; 0 where each one is exact."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page that was read; what it does not say is not in here."""

    counters: Mapping[Key, Value]
    running: Mapping[str | None, float]
    """Requests under way, by model."""
    process: str = ""
    """Tells the server's process from the one before a restart; empty if the page does not."""
    left_out: int = 0
    """Numbers that cannot be true, and are not in here either."""


class Target(msgspec.Struct, frozen=True):
    """One page of an upstream."""

    path: str
    """With the query, percent-encoded."""
    model: str | None = None
    """Whose page it is, where the page itself does not say."""
    is_whole_server: bool = True
    """Whether the server has no other model."""


class DamagedPageError(Exception):
    """A page that cannot be believed; the text tells why, without a piece of it."""


class NoPageError(DamagedPageError):
    """What is not the metrics page of such a server at all."""


class Sample(NamedTuple):
    """One line of a page: a number from 0 on."""

    name: str
    labels: Mapping[str, str]
    value: float


class Samples(NamedTuple):
    """The lines of a page that were asked for."""

    kept: tuple[Sample, ...]
    left_out: int
    """How many have a number that cannot be true: negative, infinite, not a number."""


class ServerPage(Protocol):
    """The metrics page of a server kind: the one place that knows its names."""

    @property
    def prefix(self) -> str:
        """How the names of such a server's series begin."""

    @property
    def names(self) -> Collection[str]:
        """The series that are read, by their exact names."""

    @property
    def remedies(self) -> Mapping[int, str]:
        """What helps against an HTTP status that says that there is no page."""

    @property
    def needs_listing(self) -> bool:
        """Whether `targets` has to know what `/v1/models` lists."""

    @property
    def shows_speculation(self) -> bool:
        """Whether the page has series of drafts exactly when speculation is configured."""

    def targets(self, listing: bytes) -> tuple[Target, ...]:
        """Return the pages to read, none of which makes the server load a model.

        Args:
            listing: The body that `/v1/models` was answered with; empty if not needed.
        """

    def read(self, samples: Samples) -> Page:
        """Read a page.

        Raises:
            DamagedPageError: It cannot be believed.
        """
