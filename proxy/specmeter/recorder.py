"""Reads what the data path copied, and counts it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specmeter.fault import Fault
from specmeter.gateway.endpoints import OTHER
from specmeter.gateway.exchange import Ending, Exchange
from specmeter.history.history import Missed
from specmeter.learning import Learning
from specmeter.meter.completion import Completion, Source
from specmeter.meter.meter import Meter
from specmeter.plain_traffic import PlainTraffic
from specmeter.reader import Outcome, read
from specmeter.reading import Reading
from specmeter.serverlog.matching import Logged, LogMatcher
from specmeter.transcript import Copied, CopiedStream
from specmeter.unread import Unread
from specmeter.upstream.probe import Probe
from specmeter.upstream.side_page import SidePages
from specmeter.upstream.upstreams import OTHER_MODEL, Upstream, Upstreams

NO_UPSTREAM = "none"
"""The `upstream` label of requests that went to none."""

READ_WITHIN = 0.02
"""Seconds after which an exchange that has ended is counted; a scrape does not wait for them."""

AT_A_TIME = 16
"""How many exchanges are counted at once: no more, because nothing else is done meanwhile."""

Observer = Callable[[Completion], None]

_log = logging.getLogger("specmeter")


class Recorder:
    """Takes each exchange once it has ended; a fault in reading is counted and goes no further.

    Args:
        loop: The loop it runs in.
        upstreams: Whose answers are read.
        meter: Counts them.
        probe: Asks the upstreams for their models.
        learning: Compares completions with their baselines.
        plain: Has requests replayed, and learns from held-out ones.
        observers: Get each completion after it was counted.
        on_missed: Gets each request for a completion of which nothing could be metered.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        upstreams: Upstreams,
        meter: Meter,
        probe: Probe,
        *,
        learning: Learning,
        plain: PlainTraffic,
        observers: Sequence[Observer] = (),
        on_missed: Callable[[Missed], None] = lambda _: None,
    ) -> None:
        self._upstreams = {one.name: one for one in upstreams.all}
        self._meter = meter
        self._probe = probe
        self._learning = learning
        self._plain = plain
        self._observers = observers
        self._on_missed = on_missed
        self._side_pages = SidePages(probe)
        self._matchers = {one.name: LogMatcher() for one in upstreams.all if one.settings.log}
        self._waiting: set[asyncio.Task[None]] = set()
        self._loop = loop
        self._ended: list[Exchange] = []
        """Not yet counted."""
        self._reading: asyncio.TimerHandle | None = None

    def take(self, exchange: Exchange) -> None:
        """Have an exchange counted, and what can be read from it, within `READ_WITHIN` seconds.

        Several at a time cost less than one at a time. What may change how the next request is
        sent does not wait.
        """
        self._ended.append(exchange)
        upstream = self._upstreams.get(exchange.upstream)
        if len(self._ended) == AT_A_TIME or (upstream is not None and upstream.backend is None):
            self.catch_up()
        elif self._reading is None:
            self._reading = self._loop.call_later(READ_WITHIN, self.catch_up)

    def catch_up(self) -> None:
        """Count what has ended so far."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        ended, self._ended = self._ended, []
        for exchange in ended:
            self._take(exchange)

    def _take(self, exchange: Exchange) -> None:
        meter = self._meter
        name = exchange.upstream or NO_UPSTREAM
        meter.count_request(name, exchange.endpoint, exchange.code)
        if exchange.ending is Ending.CLIENT_LEFT:
            meter.count_client_left(name, exchange.endpoint)
        if exchange.failure is not None:
            meter.count_failure(name, exchange.failure)
        if (overhead := exchange.overhead_seconds) is not None:
            meter.observe_overhead(name, overhead)
        if exchange.unread is not None:
            meter.count_unread(name, exchange.unread)
        upstream = self._upstreams.get(name)
        if upstream is None or exchange.transcript is None:
            self._miss(name, exchange, exchange.unread)
            return
        copied = exchange.transcript.copied()
        if isinstance(copied, Fault):
            self._failed(name, copied)
            self._miss(name, exchange, Unread.READER_FAILED)
            return
        try:
            self._read(upstream, exchange, copied)
        except Exception as error:  # noqa: BLE001 - whatever it is, traffic goes on
            self._failed(name, Fault.of(error))
            self._miss(name, exchange, Unread.READER_FAILED)

    async def settle(self) -> None:
        """Wait until everything that was taken is counted."""
        self.catch_up()
        while self._waiting:
            await asyncio.gather(*self._waiting)

    def _miss(self, upstream: str, exchange: Exchange, unread: Unread | None) -> None:
        """Tell of a request for a completion that brought no numbers, and why."""
        if not exchange.completion:
            return
        reason: str = exchange.failure or unread or f"http_{exchange.code}"
        if exchange.ending is Ending.CLIENT_LEFT:
            reason = exchange.ending
        self._on_missed(
            Missed(
                upstream=upstream,
                endpoint=exchange.endpoint,
                code=exchange.code,
                reason=reason,
                finished_at=time.time(),
            )
        )

    def _failed(self, upstream: str, fault: Fault) -> None:
        self._meter.count_unread(upstream, Unread.READER_FAILED)
        _log.error("cannot read an answer of %s: %s", upstream, fault)

    def _read(self, upstream: Upstream, exchange: Exchange, copied: Copied) -> None:
        # Where a client left, the numbers that came until then are all there are.
        complete = exchange.ending is not Ending.UPSTREAM_FAILED
        outcome = read(
            copied,
            configured=upstream.configured,
            remembered=upstream.backend,
            complete=complete,
        )
        upstream.learn(outcome.backend if outcome.recognised else None, outcome.fingerprint)
        if exchange.ending is not Ending.CLIENT_LEFT:  # else it is counted as that
            for reason in outcome.unread:
                self._meter.count_unread(upstream.name, reason)
        if not outcome.readings:
            self._miss(upstream.name, exchange, next(iter(outcome.unread), None))
        ended = _Ended(upstream, exchange, copied, outcome, time.time())
        if self._unknown(upstream, outcome) or self._has_side_page(ended):
            task = asyncio.create_task(self._count_later(ended))
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)
        else:
            self._hand_on(ended, outcome.readings)

    def _unknown(self, upstream: Upstream, outcome: Outcome) -> bool:
        """Whether asking for the models may tell what this one is called."""
        return (
            bool(outcome.readings)
            and upstream.lists_models
            and upstream.label_of(outcome.model) == OTHER_MODEL
            and self._probe.may_tell_more(upstream)
        )

    def _has_side_page(self, ended: _Ended) -> bool:
        return len(ended.outcome.readings) == 1 and self._side_pages.has_one(ended.upstream)

    async def _count_later(self, ended: _Ended) -> None:
        """Count after asking the upstream for what its answer does not say."""
        try:
            if self._unknown(ended.upstream, ended.outcome):
                await self._probe.ask_again([ended.upstream])
            readings = ended.outcome.readings
            if self._has_side_page(ended):
                readings = (await self._side_pages.complete(ended.upstream, readings[0]),)
            self._hand_on(ended, readings)
        except Exception as error:  # noqa: BLE001 - as in `take`
            self._failed(ended.upstream.name, Fault.of(error))

    def _hand_on(self, ended: _Ended, readings: Sequence[Reading]) -> None:
        """Count the completions, or let them wait for what the server logs about them."""
        upstream, exchange, copied = ended.upstream, ended.exchange, ended.copied
        first = copied.first_content_at if isinstance(copied, CopiedStream) else None
        for reading in readings:
            completion = Completion(
                upstream=upstream.name,
                endpoint=exchange.endpoint,
                model_name=upstream.label_of(ended.outcome.model),
                reading=reading,
                streamed=isinstance(copied, CopiedStream),
                time_to_first_token=None if first is None else first - exchange.received_at,
                duration=exchange.ended_at - exchange.received_at,
                finished_at=ended.finished_at,
                in_flight=None if exchange.in_flight is None else round(exchange.in_flight),
                stands_for=self._plain.stands_for(exchange, ended.outcome.model),
                ending=exchange.ending,
            )
            if exchange.replayable and exchange.ending is Ending.COMPLETE and len(readings) == 1:
                self._plain.offer(upstream, exchange, copied, completion)
            matcher = self._matchers.get(upstream.name)
            if matcher is None:
                self._count(upstream, completion)
                continue
            for ready in matcher.answered(completion, time.monotonic()):
                self._count(upstream, ready)

    def take_logged(self, upstream: Upstream, logged: Logged) -> None:
        """Take what an upstream's log says of a request."""
        for ready in self._matchers[upstream.name].logged(logged, time.monotonic()):
            self._count(upstream, ready)

    def let_go(self, upstream: Upstream, *, all_of_them: bool = False) -> None:
        """Count what has waited long enough for its counterpart, or all that waits."""
        matcher = self._matchers.get(upstream.name)
        if matcher is None:
            return
        now = float("inf") if all_of_them else time.monotonic()
        answers, lines = matcher.expired(now)
        for completion in answers:
            self._count(upstream, completion)
        for logged in lines:
            self._count(upstream, _of_log(upstream, logged))

    def _count(self, upstream: Upstream, completion: Completion) -> None:
        upstream.saw(completion.reading.speculation, completion.model_name, completion.finished_at)
        completion = self._compared(upstream, completion)
        self._meter.count(completion)
        for observe in self._observers:
            observe(completion)

    def _compared(self, upstream: Upstream, completion: Completion) -> Completion:
        """Compare and learn; a fault in that must not cost the completion its other numbers."""
        try:
            self._plain.take(completion, upstream.build)
            return self._learning.compared(upstream, completion)
        except Exception as error:  # noqa: BLE001 - whatever it is, the rest counts
            self._failed(upstream.name, Fault.of(error))
            return completion


@dataclass(frozen=True, slots=True)
class _Ended:
    """An exchange that was read."""

    upstream: Upstream
    exchange: Exchange
    copied: Copied
    outcome: Outcome
    finished_at: float


def _of_log(upstream: Upstream, logged: Logged) -> Completion:
    """Return a completion that only the log tells of; its model is the only one, or unknown."""
    return Completion(
        upstream=upstream.name,
        endpoint=OTHER,
        model_name=upstream.label_of(None),
        reading=logged.reading,
        streamed=False,
        time_to_first_token=None,
        duration=None,
        finished_at=time.time(),
        source=Source.LOG,
    )
