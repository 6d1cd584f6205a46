"""Ports of the loopback interface: one to listen on, and one where nobody does."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager

HOST = "127.0.0.1"

_OURS = range(20_000, 32_000)
"""None that the system chooses, for who binds port 0 or goes out: it does so from 32,768 on."""

_MOST_TRIES = 100


def free_port() -> int:
    """Return a port for a server that has to be told one.

    Nobody gets it meanwhile who leaves the choice to the system; another one who asks here does
    once in so many thousand times.

    Raises:
        OSError: None of those that were tried is free.
    """
    ports = random.sample(_OURS, _MOST_TRIES)
    for port in ports[:-1]:
        try:
            return _bound(port)
        except OSError:
            continue
    return _bound(ports[-1])


def _bound(port: int) -> int:
    with socket.socket() as one:
        one.bind((HOST, port))
    return port


@contextmanager
def closed_port() -> Iterator[int]:
    """Hold a port where nobody listens: whoever connects to it is refused."""
    with socket.socket() as held:  # bound, so that nobody else gets it, but not listening
        held.bind((HOST, 0))
        yield held.getsockname()[1]
