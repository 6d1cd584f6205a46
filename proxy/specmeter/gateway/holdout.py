"""Draws the live requests that the plain upstream answers instead of the speculating one.

A baseline is not worth an error or a delay. So before a live request goes there, a copy of one has
to have been answered; and whatever goes wrong later, the request goes to the speculating upstream
after all, and none is drawn for a while.
"""

from __future__ import annotations

import hashlib
import logging
import random
from collections.abc import Callable
from enum import StrEnum

from specmeter.gateway.failures import UpstreamError
from specmeter.upstream.upstreams import Upstream

MOST_WAITING = 4
"""So many held-out requests may wait for their answers to begin: a plain upstream that hangs must
not keep many."""

FIRST_PAUSE_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 3600.0

_log = logging.getLogger("specmeter")


class Result(StrEnum):
    """What became of a held-out request."""

    ANSWERED = "answered"
    FELL_BACK = "fell_back"
    """The plain upstream did not answer, so the speculating one did."""
    BROKEN_OFF = "broken_off"
    """The plain upstream broke off in the middle of its answer, which nobody can take back."""


class Holdout:
    """The draw for one speculating upstream.

    Args:
        upstream: Whose requests are drawn.
        plain: Who answers them.
        on_result: Gets what became of each.
        clock: Seconds, monotonic.
        draw: Returns a random number from 0 to 1 for each request.
    """

    def __init__(
        self,
        upstream: Upstream,
        plain: Upstream,
        on_result: Callable[[Result], None],
        clock: Callable[[], float],
        draw: Callable[[], float] | None = None,
    ) -> None:
        settings = upstream.settings
        self.plain = plain
        self.of = upstream
        self.model = settings.plain_model
        self.patience_seconds = settings.holdout_patience_seconds
        self._share = settings.holdout
        self.header = settings.holdout_header
        self._on_result = on_result
        self._clock = clock
        self._draw = draw or random.SystemRandom().random
        self._waiting = 0
        self.is_proven = False
        """Whether the plain upstream has answered a copy since it last failed."""
        self._is_proving = False
        self._pause = FIRST_PAUSE_SECONDS
        self._paused_until = float("-inf")

    def draws(self, conversation: str | None) -> bool:
        """Decide on a request; one of a conversation goes the way of the others of it.

        Args:
            conversation: The value of `holdout_header`; `None` without that header.
        """
        drawn = self._draw() if conversation is None else _place(conversation)
        if drawn >= self._share:
            return False
        if self.plain.up is not True or self._clock() < self._paused_until:
            return False
        return self._waiting < MOST_WAITING if self.is_proven else not self._is_proving

    def proving(self) -> None:
        """Take note of a copy that is on its way, with which it is to be proven."""
        self._is_proving = True

    def proved(self, error: str) -> None:
        """Take note of what came of it.

        Args:
            error: Why there was no answer; empty if there was one.
        """
        self._is_proving = False
        self.is_proven = not error
        if error:
            self._draw_none(error)

    def sent(self) -> Waiting:
        """Take note of a request that now waits for its answer to begin."""
        self._waiting += 1
        return Waiting(self._has_begun)

    def _has_begun(self) -> None:
        self._waiting -= 1

    def answered(self) -> None:
        """Take note of a whole answer."""
        self._pause = FIRST_PAUSE_SECONDS
        self._on_result(Result.ANSWERED)

    def broken_off(self) -> None:
        """Take note of an answer that broke off after it had begun."""
        self._on_result(Result.BROKEN_OFF)
        self._draw_none(f"upstream {self.plain.name} broke off an answer")

    def failed(self, error: UpstreamError) -> None:
        """Take note of a request that has to go to the speculating upstream after all."""
        self._on_result(Result.FELL_BACK)
        self._draw_none(f"{error} A held-out request went to {self.of.name} after all")

    def _draw_none(self, why: str) -> None:
        self.is_proven = False
        now = self._clock()
        if now < self._paused_until:
            return  # one of those that were on their way when the first one failed
        _log.warning("%s; none is held out for %g s", why, self._pause)
        self._paused_until = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)


class Waiting:
    """One request that waits for its answer to begin."""

    def __init__(self, on_over: Callable[[], None]) -> None:
        self._on_over: Callable[[], None] | None = on_over

    def over(self) -> None:
        """Take note that it waits no more, in whatever way that came; once is enough."""
        on_over, self._on_over = self._on_over, None
        if on_over is not None:
            on_over()


def _place(conversation: str) -> float:
    """Return where a conversation stands between 0 and 1: the same here and on every replica."""
    digest = hashlib.blake2b(conversation.encode("utf-8", "surrogateescape"), digest_size=8)
    return int.from_bytes(digest.digest()) / 2**64
