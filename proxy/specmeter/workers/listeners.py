"""The sockets that clients connect to: one for each worker on the same port.

The system shares connections out among them. They belong to the main process, so that those that
wait in one outlive its worker, and the next worker answers them.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any, NamedTuple

from specmeter.config import Address
from specmeter.gateway.front import BACKLOG


class _Place(NamedTuple):
    family: socket.AddressFamily
    address: tuple[Any, ...]


class Listeners:
    """Where clients connect; a host's name may stand for several addresses."""

    def __init__(self) -> None:
        self._places: list[_Place] = []
        self._reserved: list[socket.socket] = []
        self._sockets: dict[int, list[socket.socket]] = {}

    async def reserve(self, address: Address) -> int:
        """Find the addresses out; return the port, also where the system is to choose one.

        Raises:
            OSError: There is no such address, or somebody listens there.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        port = address.port
        for family, *_, where in dict.fromkeys(found):
            # Bound alone, it fails where another program listens, sharing or not. From then on it
            # shares, but never listens: it only keeps the port.
            one = _bound(family, (where[0], port, *where[2:]), shares=False)
            self._reserved.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
            port = one.getsockname()[1]
            self._places.append(_Place(family, one.getsockname()))
        return port

    def of(self, worker: int) -> list[socket.socket]:
        """Return the sockets of a worker, which listen.

        Raises:
            OSError: They cannot be had.
        """
        if worker not in self._sockets:
            self._sockets[worker] = made = []
            try:
                for family, address in self._places:
                    made.append(one := _bound(family, address, shares=True))
                    one.listen(BACKLOG)
            except BaseException:
                self.give_up(worker)
                raise
        return self._sockets[worker]

    def give_up(self, worker: int) -> None:
        """Close the sockets of a worker: the others get all connections."""
        for one in self._sockets.pop(worker, ()):
            one.close()

    def close(self) -> None:
        """Close all of them."""
        for worker in list(self._sockets):
            self.give_up(worker)
        for one in self._reserved:
            one.close()


def _bound(
    family: socket.AddressFamily, address: tuple[Any, ...], *, shares: bool
) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shares:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made
