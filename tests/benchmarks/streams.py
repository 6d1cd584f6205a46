"""The streaming load: many streams at a time, each at the upstream's rate."""

import asyncio
import random
from functools import partial
from itertools import accumulate

from tests.benchmarks.client import Client, converse
from tests.benchmarks.errors import OverloadError
from tests.benchmarks.meter import Meter
from tests.benchmarks.traffic import Traffic

_RAMP = 0.5  # seconds over which streams begin, at random, so that their events are not in step
_EDGE = 5  # events of every stream that come before, and after, what is measured
_PATIENCE = 60.0  # seconds that a run may take longer than planned


class _Steady:
    """Measures while every stream is under way."""

    def __init__(self, streams: int, events: int, meter: Meter) -> None:
        self._meter = meter
        self._not_begun = streams
        self._last = events - _EDGE

    def advance(self, before: int, after: int) -> None:
        """A stream has got from so many events to so many.

        Raises:
            OverloadError: it is almost over, and others have not begun.
        """
        self._meter.count += after - before
        self._meter.pieces += 1
        if before < _EDGE <= after:
            self._not_begun -= 1
            if not self._not_begun:
                self._meter.mark()
        if after >= self._last and not self._meter.ended:
            if self._not_begun:
                raise OverloadError(
                    f"a stream was almost over before {self._not_begun} others had begun; "
                    "measure on a machine with less to do",
                )
            self._meter.mark()


class _StreamClient(Client):
    """Asks for one stream and counts its events as they arrive."""

    def __init__(self, number: int, count: int, traffic: Traffic, steady: _Steady) -> None:
        super().__init__()
        events = traffic.events(number, count)
        self._exchanges = iter([(traffic.request(number, count), b"".join(events))])
        self._ends = list(accumulate(map(len, events)))
        self._arrived = 0
        self._steady = steady

    def next_exchange(self) -> tuple[bytes, bytes] | None:
        return next(self._exchanges, None)

    def piece_arrived(self) -> None:
        before = self._arrived
        while self._arrived < len(self._ends) and self._ends[self._arrived] <= len(self.received):
            self._arrived += 1
        self._steady.advance(before, self._arrived)

    def response_arrived(self) -> None:
        pass


async def run_streams(
    port: int,
    meter: Meter,
    *,
    streams: int,
    rate: float,
    seconds: float,
) -> None:
    """Open streams at the port; the meter measures while all are under way.

    Args:
        port: of the proxy, or of the upstream itself.
        meter: what counts.
        streams: how many at a time.
        rate: events per second of each stream, as the upstream was told.
        seconds: how long to measure, all streams under way.

    Raises:
        DeliveryError: a response was not what the upstream sends.
        OverloadError: the streams did not run side by side.
        TimeoutError: it took a minute longer than planned.
    """
    traffic = Traffic()
    events = round((_RAMP + seconds) * rate) + 2 * _EDGE
    steady = _Steady(streams, events, meter)
    async with asyncio.timeout(_RAMP + seconds + _PATIENCE):
        await converse(
            port,
            [partial(_StreamClient, number, events, traffic, steady) for number in range(streams)],
            [random.uniform(0, _RAMP) for _ in range(streams)],
        )
