"""The load without streaming: clients in a closed loop."""

import asyncio
from collections.abc import Iterator
from functools import partial

from tests.benchmarks.client import Client, converse
from tests.benchmarks.meter import Meter
from tests.benchmarks.traffic import AS_CAPTURED, Shape, Traffic, check

_WARM_UP = 20  # requests of each client before what is measured
_PATIENCE = 120.0  # seconds that a run may take


class _Counter:
    """Measures so many requests after so many, while all clients are busy."""

    def __init__(self, warm_up: int, requests: int, meter: Meter) -> None:
        self.meter = meter
        self._moments = (warm_up, warm_up + requests)

    def advance(self, waited: float) -> None:
        """One more request has been answered, and its client waited so many seconds."""
        self.meter.count += 1
        self.meter.first_byte(waited)
        if self.meter.count in self._moments:
            self.meter.mark()


class _LoopClient(Client):
    """Sends the next request as soon as the last one is answered."""

    def __init__(
        self, numbers: Iterator[int], traffic: Traffic, counter: _Counter, *, checked: bool
    ) -> None:
        super().__init__(traffic.shape.path)
        self._numbers = numbers
        self._traffic = traffic
        self._counter = counter
        self._checked = checked
        self._number = 0
        self._received = bytearray()

    def next_request(self) -> bytes | None:
        number = next(self._numbers, None)
        if number is None:
            return None
        self._number = number
        self._received.clear()
        return self._traffic.request(number)

    def piece_arrived(self, piece: bytes) -> None:
        self._received += piece
        self._counter.meter.pieces += 1

    def response_arrived(self) -> None:
        if self._checked:
            check(self._received, self._traffic.answer(self._number), "response")
        self._counter.advance(self.waited)


async def run_requests(
    port: int,
    meter: Meter,
    *,
    clients: int,
    requests: int,
    warm_up: int = _WARM_UP,
    shape: Shape = AS_CAPTURED,
    checked: bool = True,
) -> None:
    """Send requests without streaming, the next of each client after the answer to the last.

    Args:
        port: of the proxy, or of the upstream itself.
        meter: what counts.
        clients: how many connections.
        requests: how many are measured, of all clients together.
        warm_up: requests of each client before that.
        shape: of requests and answers.
        checked: whether every byte has to be what the upstream sends.

    Raises:
        DeliveryError: a response was not what the upstream sends.
        TimeoutError: it took longer than two minutes.
    """
    traffic = Traffic(shape)
    before = clients * warm_up
    numbers = iter(range(before + requests + clients))  # all clients still busy at the end
    counter = _Counter(before, requests, meter)
    async with asyncio.timeout(_PATIENCE):
        await converse(
            port,
            [partial(_LoopClient, numbers, traffic, counter, checked=checked)] * clients,
            [0.0] * clients,
        )
