"""Replays some of one upstream's finished requests on its plain one, while both have room."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import aiohttp

from specmeter.asking import Answer, AskError, Server, ask
from specmeter.discreet import Discreet
from specmeter.gateway.inject import inject
from specmeter.shadow.comparison import Comparison, compare
from specmeter.shadow.request import can_be_replayed, replay_of
from specmeter.upstream.upstreams import Upstream

MOST_WAITING = 4
"""So many requests wait for their replay at most; they are held in memory."""

MOST_SECONDS_WAITING = 300.0
"""Later the plain server's speed may be another one."""

TIMEOUT_SECONDS = 600.0

LOOK_SECONDS = 0.05
"""How often it is looked whether there is room."""

_log = logging.getLogger("specmeter")


class Result(StrEnum):
    """What became of a request that was drawn."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It became too old, or too many were waiting, before there was room."""
    ABANDONED = "abandoned"
    """Live traffic came."""


@dataclass(frozen=True, slots=True, repr=False)
class Finished(Discreet):
    """A live request that has ended well."""

    endpoint: str
    target: str
    """Path and query, percent-encoded."""
    body: bytes
    tokens: int
    """That were generated."""
    text: str | None
    """What was generated; `None` if that is not known."""
    model_name: str
    """The label."""
    ended_at: float
    """Seconds, monotonic."""


class Listener(Protocol):
    """Gets what comes of replays."""

    def on_result(self, upstream: Upstream, result: Result) -> None:
        """Take what became of one."""

    def on_replayed(
        self, upstream: Upstream, plain: Upstream, model_name: str, answer: Answer, in_flight: float
    ) -> None:
        """Take the plain upstream's answer, and how many it worked on meanwhile."""

    def on_compared(self, upstream: Upstream, model_name: str, comparison: Comparison) -> None:
        """Take what two greedy outputs say."""


class Replayer:
    """The replays of one speculating upstream, one at a time.

    Live traffic never waits for a replay: one that is drawn costs the data path a random number
    and a copy of the request, and everything else happens here.

    Args:
        upstream: Whose requests are replayed.
        plain: Where.
        listener: Gets what comes of it.
        draw: Returns a random number from 0 to 1 for each request.
    """

    def __init__(
        self,
        upstream: Upstream,
        plain: Upstream,
        listener: Listener,
        draw: Callable[[], float] | None = None,
    ) -> None:
        self._upstream = upstream
        self._plain = plain
        self._listener = listener
        self._draw = draw or random.SystemRandom().random
        settings = upstream.settings
        self._share = settings.shadow
        self._limit = settings.shadow_in_flight
        per_minute = settings.shadow_per_minute
        self._spacing = 60.0 / per_minute if per_minute else float("inf")
        self._model = settings.plain_model
        self._clock = upstream.loop.time
        self._waiting: deque[Finished] = deque()
        self._came = asyncio.Event()
        self._replaying: asyncio.Task[None] | None = None

    @property
    def has_place(self) -> bool:
        """Whether another request can be kept."""
        return len(self._waiting) < MOST_WAITING

    def draws(self, endpoint: str) -> bool:
        """Decide whether a request is kept for a replay."""
        return can_be_replayed(endpoint) and self.has_place and self._draw() < self._share

    def offer(self, finished: Finished) -> None:
        """Take a request that was drawn and has ended well."""
        if self._spacing == float("inf"):
            return
        if len(self._waiting) >= MOST_WAITING:
            self._listener.on_result(self._upstream, Result.SKIPPED)
            return
        self._waiting.append(finished)
        self._came.set()

    async def start(self) -> None:
        """Begin to replay."""
        self._replaying = asyncio.create_task(self._go_on(), name="specmeter-shadow")

    async def stop(self) -> None:
        """Give up what is under way."""
        if self._replaying is not None:
            self._replaying.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._replaying

    @property
    def _has_room(self) -> bool:
        """Whether a replay may begin."""
        busy = max(self._upstream.load.under_way, self._plain.load.under_way)
        return busy <= self._limit and self._plain.up is True

    async def _go_on(self) -> None:
        async with aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(force_close=True),
        ) as session:
            while True:
                self._came.clear()
                if not self._waiting:
                    await self._came.wait()
                began = self._clock()
                finished = await self._next()
                if finished is None:
                    continue
                result = await self._replay(session, finished)
                del finished  # what was said is kept no longer than needed
                self._listener.on_result(self._upstream, result)
                await asyncio.sleep(max(began + self._spacing - self._clock(), 0))

    async def _next(self) -> Finished | None:
        """Wait until there is room for one that is not too old."""
        while self._waiting:
            if self._clock() - self._waiting[0].ended_at > MOST_SECONDS_WAITING:
                self._waiting.popleft()
                self._listener.on_result(self._upstream, Result.SKIPPED)
            elif self._has_room:
                return self._waiting.popleft()
            else:
                await asyncio.sleep(LOOK_SECONDS)
        return None

    async def _replay(self, session: aiohttp.ClientSession, finished: Finished) -> Result:
        replay = replay_of(finished.endpoint, finished.body, finished.tokens, self._model)
        if replay is None:
            return Result.SKIPPED
        plain = self._plain
        body = replay.body
        if plain.injection is not None:
            injected = inject(body, plain.injection, finished.endpoint, plain.habits)
            body = injected.body if injected else body
        mark = plain.load.enter(self._clock())
        asked = asyncio.create_task(
            ask(
                session,
                Server(plain.target.base_url, plain.key, plain.tls, plain.configured),
                finished.target,
                body,
                timeout_seconds=TIMEOUT_SECONDS,
            ),
            name="specmeter-replay",
        )
        try:
            if not await self._had_room_until(asked):
                return Result.ABANDONED
        finally:
            asked.cancel()
            in_flight = plain.load.leave(mark, self._clock())
        try:
            answer = asked.result()
        except AskError as error:
            _log.info("replay of a request to %s failed: %s", self._upstream.name, error)
            return Result.FAILED
        self._listener.on_replayed(self._upstream, plain, finished.model_name, answer, in_flight)
        if replay.is_greedy and finished.text is not None:
            replayed = answer.text()
            if replayed is not None:
                comparison = compare(finished.text, replayed)
                self._listener.on_compared(self._upstream, finished.model_name, comparison)
        return Result.DONE

    async def _had_room_until(self, asked: asyncio.Task[Answer]) -> bool:
        """Wait for an answer; return whether live traffic left it room until its end."""
        while True:
            await asyncio.wait((asked,), timeout=LOOK_SECONDS)
            if asked.done():
                return True
            # The replay itself is one of the plain upstream's.
            busy = max(self._upstream.load.under_way, self._plain.load.under_way - 1)
            if busy > self._limit:
                asked.cancel()
                await asyncio.wait((asked,))
                return False
