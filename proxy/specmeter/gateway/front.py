"""The data listener in one process, with what answers its requests."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence

from specmeter.config import Address, Settings
from specmeter.gateway.comparisons import Comparisons
from specmeter.gateway.exchange import Exchange
from specmeter.gateway.gateway import Gateway
from specmeter.gateway.relay import Limits
from specmeter.gateway.server import ClientPatience, DataServer
from specmeter.keys import Keys
from specmeter.open_files import room_for_clients
from specmeter.upstream.upstreams import Upstream, Upstreams

BACKLOG = 2048

_log = logging.getLogger("specmeter")


class Front:
    """Takes clients' connections and answers their requests.

    Args:
        loop: The loop it runs in.
        settings: What it is told to do.
        upstreams: Where requests go.
        on_exchange: Gets every request once it has ended; must not raise.
        ask_models_again: Has upstreams asked for their models.
        keys: Of which clients have to bring one; `None` if they need not.
        plain: What is done for comparison with plain upstreams.
        patience: How long clients are waited for.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        settings: Settings,
        upstreams: Upstreams,
        on_exchange: Callable[[Exchange], None],
        ask_models_again: Callable[[Sequence[Upstream]], Awaitable[None]],
        *,
        keys: Keys | None,
        plain: Comparisons,
        patience: ClientPatience | None = None,
    ) -> None:
        self._loop = loop
        self._drain_seconds = settings.drain_seconds
        for one in upstreams.all:
            one.keeps_keys = keys is not None
        self.gateway = Gateway(
            loop,
            upstreams,
            Limits(event_bytes=settings.event_bytes, body_bytes=settings.body_bytes),
            on_exchange,
            ask_models_again,
            plain=plain,
            keys=keys,
        )
        self.server = DataServer(
            loop,
            self.gateway.answer,
            self.gateway.count_bad_request,
            patience or ClientPatience(),
            room_for_clients(),
        )
        self.listeners: list[asyncio.Server] = []

    async def listen(self, address: Address) -> int:
        """Take connections; return the port, also where the system chose it.

        Raises:
            OSError: The port cannot be had.
        """
        listener = await self._loop.create_server(
            self.server, address.host, address.port, backlog=BACKLOG
        )
        self.listeners.append(listener)
        port: int = listener.sockets[0].getsockname()[1]
        return port

    async def listen_on(self, sockets: Iterable[socket.socket]) -> None:
        """Take connections from sockets that listen already."""
        for one in sockets:
            self.listeners.append(
                await self._loop.create_server(self.server, sock=one, backlog=BACKLOG)
            )

    @property
    def is_ready(self) -> bool:
        """Whether anybody takes connections."""
        return bool(self.listeners)

    async def start(self) -> None:
        """Do nothing: it answers since it listens."""

    def tell_news(self) -> None:
        """Do nothing: what is known of upstreams is known here."""

    async def catch_up(self) -> None:
        """Do nothing: what has ended was handed on."""

    async def stop(self) -> None:
        """Take no more, and let what is under way end within `drain_seconds`."""
        for listener in self.listeners:
            listener.close()
        self.gateway.drain()
        server = self.server
        try:
            async with asyncio.timeout(self._drain_seconds):
                await server.drain()
        except TimeoutError:
            cut_off = len(server.connections)
            _log.warning("%d answers cut off after %g s of draining", cut_off, self._drain_seconds)
            await server.cut_off()
