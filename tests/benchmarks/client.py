"""A client of the benchmark: one connection, every byte of every response checked."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import cast

from tests.benchmarks.errors import BenchmarkError, DeliveryError
from tests.benchmarks.http1 import MessageReader
from tests.benchmarks.traffic import CHAT


class Client(asyncio.Protocol, ABC):
    """Sends requests one after the other over a kept-alive connection.

    Attributes:
        arrived: bytes so far of the body that is arriving.
        waited: seconds from the request to the first byte of the body, once that is there.
        finished: done when nothing is left to send; holds DeliveryError if anything was wrong.
    """

    def __init__(self, path: str = CHAT) -> None:
        self._path = path.encode()
        self._reader = MessageReader(self._on_head, self._on_body, self._on_end)
        self._sent_at = 0.0
        self.arrived = 0
        self.waited = 0.0
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @abstractmethod
    def next_request(self) -> bytes | None:
        """The body of the next request; None when done."""

    @abstractmethod
    def piece_arrived(self, piece: bytes) -> None:
        """A piece of a body has arrived.

        Raises:
            DeliveryError: It is not what was sent.
        """

    @abstractmethod
    def response_arrived(self) -> None:
        """A response is complete.

        Raises:
            DeliveryError: It is not what was sent.
        """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
        except (BenchmarkError, OSError) as error:
            self._finish(error)
        except ValueError as error:
            self._finish(DeliveryError(f"response is no HTTP: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        reason = exc or "closed by the other side"
        self._finish(DeliveryError(f"connection ended after {self.arrived} bytes: {reason}"))

    def _send(self) -> None:
        body = self.next_request()
        if body is None:
            self._finish(None)
            return
        self.arrived = 0
        self._sent_at = time.perf_counter()
        self._transport.write(
            b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"User-Agent: OpenAI/Python\r\nAccept: application/json\r\n"
            b"Authorization: Bearer none\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (self._path, len(body), body),
        )

    def _on_head(self, head: bytes) -> None:
        status = head.split(b"\r\n", 1)[0].decode("latin-1")
        if " 200 " not in status:
            raise DeliveryError(f"answer {status!r} instead of status 200")

    def _on_body(self, piece: bytes) -> None:
        if not self.arrived:
            self.waited = time.perf_counter() - self._sent_at
        self.arrived += len(piece)
        self.piece_arrived(piece)

    def _on_end(self) -> None:
        self.response_arrived()
        self._send()

    def _finish(self, error: Exception | None) -> None:
        if not self.finished.done():
            if error:
                self.finished.set_exception(error)
            else:
                self.finished.set_result(None)
        self._transport.close()


async def converse(
    port: int,
    clients: Sequence[Callable[[], Client]],
    delays: Sequence[float],
) -> None:
    """Let clients talk to the port, each after its delay in seconds, until all have finished.

    Raises:
        BenchmarkError: the first that any of them met.
        OSError: no connection.
    """

    async def one(client: Callable[[], Client], delay: float) -> None:
        await asyncio.sleep(delay)
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_connection(client, "127.0.0.1", port)
        try:
            await protocol.finished
        finally:
            transport.abort()

    try:
        async with asyncio.TaskGroup() as group:
            for client, delay in zip(clients, delays, strict=True):
                group.create_task(one(client, delay))
    except BaseExceptionGroup as errors:  # what `except*` raises, Python 3.11.2 wraps again
        first: BaseException | None = errors.subgroup((BenchmarkError, OSError))
        if first is None:
            raise
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None
