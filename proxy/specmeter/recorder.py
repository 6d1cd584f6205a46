"""Reads what the data path copied, and has it counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from specmeter.counting import Counting, Metered
from specmeter.discreet import Discreet
from specmeter.fault import Fault
from specmeter.gateway.endpoints import OTHER
from specmeter.gateway.exchange import Ending, Exchange
from specmeter.history.history import Missed
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

READ_WITHIN = 0.05
"""Seconds after which an exchange that has ended is counted; a scrape does not wait for them."""

AT_A_TIME = 32
"""How many exchanges are counted at once: no more, because nothing else is done meanwhile."""


class _Answer(Discreet, msgspec.Struct, frozen=True):
    """An answer that was read."""

    upstream: Upstream
    exchange: Exchange
    copied: Copied
    outcome: Outcome
    finished_at: float
    """Unix time."""


class Recorder:
    """Takes each exchange once it has ended; a fault in reading is counted and goes no further.

    Args:
        loop: The loop it runs in.
        upstreams: Whose answers are read.
        meter: Counts requests.
        probe: Asks the upstreams for their models.
        counting: Counts completions.
        plain: Has requests replayed.
        on_missed: Gets each request for a completion of which nothing could be metered.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        upstreams: Upstreams,
        meter: Meter,
        probe: Probe,
        *,
        counting: Counting,
        plain: PlainTraffic,
        on_missed: Callable[[Missed], None] = lambda _: None,
    ) -> None:
        self._upstreams = {one.name: one for one in upstreams.all}
        self._meter = meter
        self._probe = probe
        self._counting = counting
        self._plain = plain
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
        """Count what has ended so far.

        One step for all of them, then the next: each step then finds its code and its tables in
        the processor's cache. Taking one exchange after the other costs nearly twice as much.
        """
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        ended, self._ended = self._ended, []
        for exchange in ended:
            self._count_request(exchange)
        answers = [answer for one in ended if (answer := self._answer(one)) is not None]
        self._counting.count([one for answer in answers for one in self._countable(answer)])

    async def settle(self) -> None:
        """Wait until everything that was taken is counted."""
        self.catch_up()
        while self._waiting:
            await asyncio.gather(*self._waiting)

    def take_logged(self, upstream: Upstream, logged: Logged) -> None:
        """Take what an upstream's log says of a request."""
        ready = self._matchers[upstream.name].logged(logged, time.monotonic())
        self._counting.count([(upstream, one) for one in ready])

    def let_go(self, upstream: Upstream, *, all_of_them: bool = False) -> None:
        """Count what has waited long enough for its counterpart, or all that waits."""
        matcher = self._matchers.get(upstream.name)
        if matcher is None:
            return
        now = float("inf") if all_of_them else time.monotonic()
        answers, lines = matcher.expired(now)
        alone = [*answers, *(_of_log(upstream, logged) for logged in lines)]
        self._counting.count([(upstream, one) for one in alone])

    # One step of many.

    def _count_request(self, exchange: Exchange) -> None:
        """Count what does not depend on what the answer says."""
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

    def _answer(self, exchange: Exchange) -> _Answer | None:
        """Read an answer; `None` if there is none, or it cannot be read."""
        upstream = self._upstreams.get(exchange.upstream)
        if upstream is None or exchange.transcript is None:
            self._miss(exchange, exchange.unread)
            return None
        copied = exchange.transcript.copied()
        if isinstance(copied, Fault):
            self._failed(upstream, exchange, copied)
            return None
        try:
            return self._read(upstream, exchange, copied)
        except Exception as error:  # noqa: BLE001 - whatever it is, traffic goes on
            self._failed(upstream, exchange, Fault.of(error))
            return None

    def _read(self, upstream: Upstream, exchange: Exchange, copied: Copied) -> _Answer:
        outcome = read(
            copied,
            configured=upstream.configured,
            remembered=upstream.backend,
            # Where a client left, the numbers that came until then are all there are.
            complete=exchange.ending is not Ending.UPSTREAM_FAILED,
        )
        upstream.learn(outcome.backend if outcome.recognised else None, outcome.fingerprint)
        if exchange.ending is not Ending.CLIENT_LEFT:  # else it is counted as that
            for reason in outcome.unread:
                self._meter.count_unread(upstream.name, reason)
        if not outcome.readings:
            self._miss(exchange, next(iter(outcome.unread), None))
        return _Answer(upstream, exchange, copied, outcome, time.time())

    def _countable(self, answer: _Answer) -> list[Metered]:
        """Return the completions of an answer that can be counted now."""
        try:
            if self._unknown(answer.upstream, answer.outcome) or self._has_side_page(answer):
                task = asyncio.create_task(self._count_later(answer))
                self._waiting.add(task)
                task.add_done_callback(self._waiting.discard)
                return []
            return self._completions(answer, answer.outcome.readings)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(answer.upstream, answer.exchange, Fault.of(error))
            return []

    def _completions(self, answer: _Answer, readings: Sequence[Reading]) -> list[Metered]:
        """Return the completions that need not wait for what the server logs about them."""
        upstream, exchange, outcome, copied = (
            answer.upstream,
            answer.exchange,
            answer.outcome,
            answer.copied,
        )
        streamed = isinstance(copied, CopiedStream)
        first = copied.first_content_at if isinstance(copied, CopiedStream) else None
        matcher = self._matchers.get(upstream.name)
        ready: list[Metered] = []
        for reading in readings:
            completion = Completion(
                upstream=upstream.name,
                endpoint=exchange.endpoint,
                model_name=upstream.label_of(outcome.model),
                reading=reading,
                streamed=streamed,
                time_to_first_token=None if first is None else first - exchange.received_at,
                duration=exchange.ended_at - exchange.received_at,
                finished_at=answer.finished_at,
                in_flight=None if exchange.in_flight is None else round(exchange.in_flight),
                stands_for=self._plain.stands_for(exchange, outcome.model),
                ending=exchange.ending,
            )
            if exchange.replayable and exchange.ending is Ending.COMPLETE and len(readings) == 1:
                self._plain.offer(upstream, exchange, copied, completion)
            if matcher is None:
                ready.append((upstream, completion))
            else:
                matched = matcher.answered(completion, time.monotonic())
                ready += [(upstream, one) for one in matched]
        return ready

    # What an answer does not say.

    def _unknown(self, upstream: Upstream, outcome: Outcome) -> bool:
        """Whether asking for the models may tell what this one is called."""
        return (
            upstream.label_of(outcome.model) == OTHER_MODEL
            and bool(outcome.readings)
            and upstream.lists_models
            and self._probe.may_tell_more(upstream)
        )

    def _has_side_page(self, answer: _Answer) -> bool:
        return self._side_pages.has_one(answer.upstream) and len(answer.outcome.readings) == 1

    async def _count_later(self, answer: _Answer) -> None:
        """Count after asking the upstream for what its answer does not say."""
        try:
            if self._unknown(answer.upstream, answer.outcome):
                await self._probe.ask_again([answer.upstream])
            readings = answer.outcome.readings
            if self._has_side_page(answer):
                readings = (await self._side_pages.complete(answer.upstream, readings[0]),)
            ready = self._completions(answer, readings)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(answer.upstream, answer.exchange, Fault.of(error))
        else:
            self._counting.count(ready)

    # What brings no numbers.

    def _failed(self, upstream: Upstream, exchange: Exchange, fault: Fault) -> None:
        self._counting.failed(upstream, fault)
        self._miss(exchange, Unread.READER_FAILED)

    def _miss(self, exchange: Exchange, unread: Unread | None) -> None:
        """Tell of a request for a completion that brought no numbers, and why."""
        if not exchange.completion:
            return
        reason: str = exchange.failure or unread or f"http_{exchange.code}"
        if exchange.ending is Ending.CLIENT_LEFT:
            reason = exchange.ending
        self._on_missed(
            Missed(
                upstream=exchange.upstream or NO_UPSTREAM,
                endpoint=exchange.endpoint,
                code=exchange.code,
                reason=reason,
                finished_at=time.time(),
            )
        )


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
