"""The data listener: all clients' connections, how long they may wait, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from specmeter.gateway.incoming import Request
from specmeter.gateway.protocol import DataProtocol
from specmeter.gateway.upload import Upload


@dataclass(frozen=True, slots=True)
class ClientPatience:
    """How long a client is waited for, in seconds; it may be a tenth more."""

    head: float = 60.0
    """From the first byte of a request to the end of its head."""
    idle: float = 75.0
    """For the next request."""
    end: float = 5.0
    """For the client to close, where it was told that the connection ends."""

    @property
    def look_every(self) -> float:
        """How often to see whose time is over: one timer for all is cheaper than one for each."""
        return min(self.head, self.idle, self.end) / 10


class DataServer:
    """The data listener's connections.

    Args:
        loop: The loop it runs in.
        answer: Begins to answer a request.
        count_bad_request: Counts what was no request, by the status it got.
        patience: How long clients are waited for.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        answer: Callable[[Request, Upload, DataProtocol], None],
        count_bad_request: Callable[[int], None],
        patience: ClientPatience,
    ) -> None:
        self.loop = loop
        self.answer = answer
        self.count_bad_request = count_bad_request
        self._patience = patience
        self._look: asyncio.TimerHandle | None = None
        self._emptied = asyncio.Event()
        self._emptied.set()
        self.connections: set[DataProtocol] = set()
        """Those that are open, or for which something is still being done."""

    def __call__(self) -> DataProtocol:
        """Make the protocol of a new connection."""
        return DataProtocol(self)

    def opened(self, client: DataProtocol) -> None:
        """Take a new connection in."""
        self.connections.add(client)
        self._emptied.clear()
        if self._look is None:
            self._look = self.loop.call_later(self._patience.look_every, self._end_overdue)

    def closed(self, client: DataProtocol) -> None:
        """Forget a connection."""
        self.connections.discard(client)
        if not self.connections:
            self._emptied.set()

    async def drain(self) -> None:
        """Close what is idle, and wait until the rest has its answer and is closed."""
        for client in list(self.connections):
            if client.is_idle and client.transport is not None:
                client.transport.close()
        await self._emptied.wait()

    async def cut_off(self) -> None:
        """Close every connection at once, and wait until nothing is done for any."""
        for client in list(self.connections):
            if client.transport is not None:
                client.transport.abort()
        await self._emptied.wait()

    def _end_overdue(self) -> None:
        self._look = None
        now = self.loop.time()
        for client in list(self.connections):
            self._end_if_overdue(client, now)
        if self.connections:
            self._look = self.loop.call_later(self._patience.look_every, self._end_overdue)

    def _end_if_overdue(self, client: DataProtocol, now: float) -> None:
        patience, transport = self._patience, client.transport
        if transport is None or not client.is_idle:
            return
        if client.ends:
            if now - client.since > patience.end and not transport.get_write_buffer_size():
                transport.abort()
        elif client.head_since is None:
            if now - client.since > patience.idle:
                client.end()
        elif now - client.head_since > patience.head:
            client.refuse(408, f"the head of the request took longer than {patience.head:g} s")
