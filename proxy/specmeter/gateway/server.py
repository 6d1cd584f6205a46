"""The data listener: all clients' connections, how long they may wait, and how they end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from specmeter.gateway.incoming import Request
from specmeter.gateway.protocol import DataProtocol
from specmeter.gateway.upload import Upload
from specmeter.open_files import REMEDY, limit

_MOST_REFUSED = 16
"""How many of those that are refused are given the time to read why."""

_TELL_AGAIN = 60.0
"""Seconds in which no client was refused, after which the log tells of the next one."""

_log = logging.getLogger("specmeter")


@dataclass(frozen=True, slots=True)
class ClientPatience:
    """How long a client is waited for, in seconds; it may be a tenth more."""

    head: float = 60.0
    """From the first byte of a request to the end of its head."""
    idle: float = 75.0
    """For the next request."""
    end: float = 5.0
    """For the client to close, where it was told that the connection ends."""
    grace: float = 0.2
    """For what a new client, or one that has its answer, may be sending; from then on others that
    need its place get it. This one is exact."""

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
        room: For how many there is room; for one more, the one that has been idle longest has to
            go. If none is idle it is refused, so that those inside can be served. `None` for any
            number.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        answer: Callable[[Request, Upload, DataProtocol], None],
        count_bad_request: Callable[[int], None],
        patience: ClientPatience,
        room: int | None = None,
    ) -> None:
        self.loop = loop
        self.answer = answer
        self.count_bad_request = count_bad_request
        self._patience = patience
        self._room = room
        self._refused: set[DataProtocol] = set()
        """Those that are open only to read that there is no room for them."""
        self._told_of_no_room: float | None = None
        """When the last one was refused (on the loop's clock)."""
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
        room = self._room
        if room is not None and len(self.connections) - len(self._refused) > room:
            self._make_room(client, room)

    def _make_room(self, client: DataProtocol, room: int) -> None:
        """End the connection that has been idle longest; refuse the new one if there is none."""
        latest = self.loop.time() - self._patience.grace
        others = (one for one in self.connections if one is not client)
        idle = (one for one in others if one.since < latest and one.is_unused)
        longest = min(idle, key=lambda one: one.since, default=None)
        if longest is None:
            self._refuse(client, room)
        else:
            longest.end()

    def _refuse(self, client: DataProtocol, room: int) -> None:
        """Tell a client that there is no room for it, and the log once for a while."""
        now = self.loop.time()
        last, self._told_of_no_room = self._told_of_no_room, now
        text = f"there is room for {room} clients, as {limit()} files may be open. {REMEDY}"
        if last is None or now - last > _TELL_AGAIN:
            _log.warning("clients are refused: %s", text)
        if len(self._refused) < _MOST_REFUSED or client.transport is None:
            self._refused.add(client)
            client.refuse(503, text, "no_room")
        else:
            self.count_bad_request(503)
            client.transport.abort()

    def closed(self, client: DataProtocol) -> None:
        """Forget a connection."""
        self.connections.discard(client)
        self._refused.discard(client)
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
