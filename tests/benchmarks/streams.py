"""The streaming load: many streams at a time, each at the upstream's rate."""

import asyncio
import random
import time
from functools import partial

from tests.benchmarks.client import Client, converse
from tests.benchmarks.errors import DeliveryError, OverloadError
from tests.benchmarks.meter import Meter
from tests.benchmarks.traffic import AS_CAPTURED, Shape, Traffic, check

_RAMP = 0.5  # seconds over which streams begin, at random, so that their events are not in step
_MOST_BEGIN = 500  # streams that begin in a second
_EDGE = 5  # events of every stream that come before, and after, what is measured
_SHORT_EDGE = 1  # the same of streams with few events
_SLOW = 10.0  # events per second of a stream below which it has few
_PATIENCE = 60.0  # seconds that a run may take longer than planned


class _Steady:
    """Measures while every stream is under way."""

    def __init__(self, streams: int, events: int, edge: int, meter: Meter) -> None:
        self.meter = meter
        self._not_begun = streams
        self._edge = edge
        self._last = events - edge

    def advance(self, before: int, after: int) -> None:
        """A stream has got from so many events to so many.

        Raises:
            OverloadError: it is almost over, and others have not begun.
        """
        self.meter.count += after - before
        self.meter.pieces += 1
        if before < self._edge <= after:
            self._not_begun -= 1
            if not self._not_begun:
                self.meter.mark()
        if after >= self._last and not self.meter.ended:
            if self._not_begun:
                raise OverloadError(
                    f"a stream was almost over before {self._not_begun} others had begun; "
                    "measure on a machine with less to do",
                )
            self.meter.mark()


class _StreamClient(Client):
    """Asks for one stream, and checks and counts its events as they arrive."""

    def __init__(self, number: int, count: int, traffic: Traffic, steady: _Steady) -> None:
        super().__init__(traffic.shape.path)
        self._requests = iter([traffic.request(number, count)])
        self._events = traffic.events(number, count)
        self._expected = next(self._events)
        self._rest = bytearray()
        """What has come of an event that is not complete."""
        self._count = count
        self._arrived = 0
        self._last_at = 0.0
        self._steady = steady

    def next_request(self) -> bytes | None:
        return next(self._requests, None)

    def piece_arrived(self, piece: bytes) -> None:
        before = self._arrived
        self._rest += piece
        self._take_events()
        self._note_time(self._arrived - before)
        self._steady.advance(before, self._arrived)

    def _take_events(self) -> None:
        """Compare what is whole with what was sent."""
        if self._rest == self._expected and self._expected:  # as most pieces are
            self._rest.clear()
            self._arrived += 1
            self._expected = next(self._events, b"")
            return
        while 0 < len(self._expected) <= len(self._rest):
            check(self._rest[: len(self._expected)], self._expected, f"event {self._arrived}")
            del self._rest[: len(self._expected)]
            self._arrived += 1
            self._expected = next(self._events, b"")

    def _note_time(self, events: int) -> None:
        now = time.perf_counter()
        if not self._last_at:
            self._steady.meter.first_byte(self.waited)
            self._last_at = now
        elif events:
            self._steady.meter.gap(now - self._last_at, events)
            self._last_at = now

    def response_arrived(self) -> None:
        if self._arrived != self._count or self._rest:
            raise DeliveryError(
                f"{self._arrived} of {self._count} events arrived, and {len(self._rest)} bytes more"
            )


class _UncheckedStreamClient(_StreamClient):
    """Only counts events: for proxies that write answers anew."""

    def _take_events(self) -> None:
        *whole, rest = bytes(self._rest).split(b"\n\n")
        self._arrived += len(whole)
        self._rest[:] = rest

    def response_arrived(self) -> None:
        pass


async def run_streams(
    port: int,
    meter: Meter,
    *,
    streams: int,
    rate: float,
    seconds: float,
    shape: Shape = AS_CAPTURED,
    checked: bool = True,
) -> None:
    """Open streams at the port; the meter measures while all are under way.

    Args:
        port: of the proxy, or of the upstream itself.
        meter: what counts.
        streams: how many at a time.
        rate: events per second of each stream, as the upstream was told.
        seconds: how long to measure, all streams under way.
        shape: of requests and events.
        checked: whether every byte has to be what the upstream sends.

    Raises:
        DeliveryError: a response was not what the upstream sends.
        OverloadError: the streams did not run side by side.
        TimeoutError: it took a minute longer than planned.
    """
    traffic = Traffic(shape)
    ramp = max(_RAMP, streams / _MOST_BEGIN)
    edge = _EDGE if rate >= _SLOW else _SHORT_EDGE
    events = round((ramp + seconds) * rate) + 2 * edge
    steady = _Steady(streams, events, edge, meter)
    kind = _StreamClient if checked else _UncheckedStreamClient
    async with asyncio.timeout(ramp + seconds + 2 * edge / rate + _PATIENCE):
        await converse(
            port,
            [partial(kind, number, events, traffic, steady) for number in range(streams)],
            [random.uniform(0, ramp) for _ in range(streams)],
        )
