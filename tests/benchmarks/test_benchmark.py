"""The load reaches the upstream and every byte comes back, or the run fails."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from tests.benchmarks.closed_loop import run_requests
from tests.benchmarks.errors import DeliveryError
from tests.benchmarks.meter import Meter
from tests.benchmarks.streams import run_streams
from tests.benchmarks.upstream import start

RATE = 200.0


@pytest_asyncio.fixture
async def upstream() -> AsyncIterator[int]:
    server = await start(0, RATE)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
def meter() -> Meter:
    return Meter([], os.getpid())


@asynccontextmanager
async def relay(upstream: int, change: Callable[[bytes], bytes | None]) -> AsyncIterator[int]:
    """A proxy that changes what comes back; None loses a piece, an empty one ends it all."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", upstream)

        async def back() -> None:
            while (changed := change(await up_reader.read(65536))) != b"":
                writer.write(changed or b"")
            writer.close()

        task = asyncio.create_task(back())
        try:
            while data := await reader.read(65536):
                up_writer.write(data)
        except ConnectionError:
            pass  # the client is gone, as it is after a fault
        finally:
            up_writer.close()
            await task

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_streams_arrive_whole(upstream: int, meter: Meter) -> None:
    """Every byte of every stream arrives, one chunk per event."""
    await run_streams(upstream, meter, streams=8, rate=RATE, seconds=0.2)
    measured = meter.measured()
    assert measured.count > 8
    assert measured.pieces == measured.count


async def test_answers_arrive_whole(upstream: int, meter: Meter) -> None:
    """The requests that were asked for are measured, no more and no fewer."""
    await run_requests(upstream, meter, clients=4, requests=100)
    assert meter.measured().count == 100


async def test_changed_event_is_noticed(upstream: int, meter: Meter) -> None:
    """One wrong byte in a stream fails the run, and the message says where."""
    async with relay(upstream, lambda data: data.replace(b" w00020", b" w00021")) as port:
        with pytest.raises(DeliveryError, match="differ from byte"):
            await run_streams(port, meter, streams=2, rate=RATE, seconds=0.2)


async def test_lost_event_is_noticed(upstream: int, meter: Meter) -> None:
    """An event that never comes fails the run, although every other byte is right."""
    async with relay(upstream, lambda data: None if b" w00020" in data else data) as port:
        with pytest.raises(DeliveryError, match="event 21: "):
            await run_streams(port, meter, streams=1, rate=RATE, seconds=0.2)


async def test_reordered_events_are_noticed(upstream: int, meter: Meter) -> None:
    """Two events that change places fail the run."""
    names = {b" w00020": b" w00021", b" w00021": b" w00020"}

    def swapped(data: bytes) -> bytes:
        for name, other in names.items():
            if name in data:
                return data.replace(name, other)
        return data

    async with relay(upstream, swapped) as port:
        with pytest.raises(DeliveryError, match=r"event 21.* differ from byte"):
            await run_streams(port, meter, streams=1, rate=RATE, seconds=0.2)


async def test_changed_answer_is_noticed(upstream: int, meter: Meter) -> None:
    """One wrong byte in an answer fails the run."""
    async with relay(upstream, lambda data: data.replace(b'"draft_n":98', b'"draft_n":99')) as port:
        with pytest.raises(DeliveryError, match="977 bytes arrived, 977 were sent"):
            await run_requests(port, meter, clients=2, requests=10)


async def test_broken_stream_is_noticed(upstream: int, meter: Meter) -> None:
    """A connection that ends early fails the run."""
    async with relay(upstream, lambda data: b"" if b"w00020" in data else data) as port:
        with pytest.raises(DeliveryError, match="connection ended after"):
            await run_streams(port, meter, streams=2, rate=RATE, seconds=0.2)


async def test_error_answer_is_noticed(upstream: int, meter: Meter) -> None:
    """An answer with another status than 200 fails the run."""
    async with relay(upstream, lambda data: data.replace(b"200 OK", b"502 Bad Gateway")) as port:
        with pytest.raises(DeliveryError, match="502 Bad Gateway"):
            await run_requests(port, meter, clients=2, requests=10)
