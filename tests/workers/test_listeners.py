"""One port for all workers, and for no other program."""

import errno
import socket

import pytest

from specmeter.config import Address
from specmeter.workers.listeners import Listeners

LOOPBACK = Address("127.0.0.1", 0)


def accepted(plugs: list[socket.socket]) -> int:
    """Count the connections that wait in sockets."""
    count = 0
    for plug in plugs:
        while True:
            try:
                plug.accept()[0].close()
            except BlockingIOError:
                break
            count += 1
    return count


def connect(port: int, times: int) -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(times)]


async def test_connections_are_shared_out() -> None:
    """Each worker gets some; one that has given up gets none; one that is back gets some again."""
    listeners = Listeners()
    port = await listeners.reserve(LOOPBACK)
    first, second = listeners.of(1), listeners.of(2)
    clients = connect(port, 64)
    counts = accepted(first), accepted(second)
    assert sum(counts) == 64
    assert min(counts) > 0
    listeners.give_up(1)
    clients += connect(port, 64)
    assert accepted(second) == 64
    clients += connect(port, 64)
    assert accepted(listeners.of(1)) == 0  # those before it came
    clients += connect(port, 64)
    counts = accepted(listeners.of(1)), accepted(second)
    assert sum(counts) == 128
    assert counts[0] > 0
    for one in clients:
        one.close()
    listeners.close()
    with pytest.raises(ConnectionRefusedError):
        connect(port, 1)


@pytest.mark.parametrize("shares", [True, False])
async def test_a_port_in_use(shares: bool) -> None:
    """Where another program listens there is no port to be had, even if that one would share."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(shares))
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listeners = Listeners()
        with pytest.raises(OSError, match="in use") as caught:
            await listeners.reserve(Address("127.0.0.1", taken.getsockname()[1]))
        assert caught.value.errno == errno.EADDRINUSE
        listeners.close()


async def test_one_port_for_all_addresses() -> None:
    """A name that stands for several addresses has the same port on each, also a chosen one."""
    listeners = Listeners()
    port = await listeners.reserve(Address("localhost", 0))
    assert {one.getsockname()[1] for one in (*listeners.of(1), *listeners.of(2))} == {port}
    listeners.close()
