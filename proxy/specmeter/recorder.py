"""Reads what the data path copied, and counts it."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Sequence

from specmeter.gateway.exchange import Ending, Exchange
from specmeter.meter.completion import Completion
from specmeter.meter.meter import Meter
from specmeter.probe import Probe
from specmeter.reader import Outcome, read
from specmeter.transcript import Unread
from specmeter.upstreams import OTHER_MODEL, Upstream, Upstreams

NO_UPSTREAM = "none"
"""The `upstream` label of requests that went to none."""

Observer = Callable[[Completion], None]

_log = logging.getLogger("specmeter")


class Recorder:
    """Takes each exchange once it has ended; a fault in reading is counted and goes no further.

    Args:
        upstreams: Whose answers are read.
        meter: Counts them.
        probe: Asks the upstreams for their models.
        observers: Get each completion after it was counted.
    """

    def __init__(
        self,
        upstreams: Upstreams,
        meter: Meter,
        probe: Probe,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._upstreams = {one.name: one for one in upstreams.all}
        self._meter = meter
        self._probe = probe
        self._observers = tuple(observers)
        self._waiting: set[asyncio.Task[None]] = set()

    def take(self, exchange: Exchange) -> None:
        """Count an exchange and what can be read from it."""
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
            return
        try:
            self._read(upstream, exchange)
        except Exception as error:  # noqa: BLE001 - whatever it is, traffic goes on
            self._failed(name, error)

    async def settle(self) -> None:
        """Wait until everything that was taken is counted."""
        while self._waiting:
            await asyncio.gather(*self._waiting)

    def _failed(self, upstream: str, error: Exception) -> None:
        self._meter.count_unread(upstream, Unread.READER_FAILED)
        # Not the error's text: it may hold a piece of what was read.
        where = "".join(traceback.format_tb(error.__traceback__))
        _log.error("cannot read an answer of %s: %s\n%s", upstream, type(error).__name__, where)

    def _read(self, upstream: Upstream, exchange: Exchange) -> None:
        if exchange.transcript is None:
            return
        # Where a client left, the numbers that came until then are all there are.
        complete = exchange.ending is not Ending.UPSTREAM_FAILED
        outcome = read(
            exchange.transcript,
            configured=upstream.configured,
            remembered=upstream.backend,
            complete=complete,
        )
        upstream.learn(outcome.backend if outcome.recognised else None, outcome.fingerprint)
        if exchange.ending is not Ending.CLIENT_LEFT:  # else it is counted as that
            for reason in outcome.unread:
                self._meter.count_unread(upstream.name, reason)
        finished_at = time.time()
        if self._unknown(upstream, outcome):
            task = asyncio.create_task(self._count_later(upstream, exchange, outcome, finished_at))
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)
        else:
            self._count(upstream, exchange, outcome, finished_at)

    def _unknown(self, upstream: Upstream, outcome: Outcome) -> bool:
        """Whether asking for the models may tell what this one is called."""
        return (
            bool(outcome.readings)
            and not upstream.settings.models
            and upstream.label_of(outcome.model) == OTHER_MODEL
            and self._probe.may_tell_more(upstream)
        )

    async def _count_later(
        self, upstream: Upstream, exchange: Exchange, outcome: Outcome, finished_at: float
    ) -> None:
        """Count after asking which models there are: this one may be new."""
        try:
            await self._probe.ask_again([upstream])
            self._count(upstream, exchange, outcome, finished_at)
        except Exception as error:  # noqa: BLE001 - as in `take`
            self._failed(upstream.name, error)

    def _count(
        self, upstream: Upstream, exchange: Exchange, outcome: Outcome, finished_at: float
    ) -> None:
        transcript = exchange.transcript
        if transcript is None:
            return
        first = transcript.first_content_at() if transcript.streamed else None
        for reading in outcome.readings:
            completion = Completion(
                upstream=upstream.name,
                endpoint=exchange.endpoint,
                model_name=upstream.label_of(outcome.model),
                reading=reading,
                streamed=transcript.streamed,
                time_to_first_token=None if first is None else first - exchange.received_at,
                duration=exchange.ended_at - exchange.received_at,
                finished_at=finished_at,
            )
            upstream.saw(reading.speculation, completion.model_name, finished_at)
            self._meter.count(completion)
            for observe in self._observers:
                observe(completion)
