"""The connections to one upstream: opened when needed, used again while fresh."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque

from specmeter.config import Target
from specmeter.gateway.connection import Connection
from specmeter.gateway.failures import Reason, UpstreamError
from specmeter.open_files import REMEDY, is_out_of_files, limit


class Pool:
    """Connections to one upstream; as many as there are requests under way.

    Args:
        loop: The loop it runs in.
        target: Where the upstream is.
        connect_seconds: The longest wait for a connection.
        keepalive_seconds: How long an idle connection is used again; shorter than the upstream's
            own limit, so that no request meets a connection that is just being closed.
        tls: How an `https` upstream is verified.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        target: Target,
        *,
        connect_seconds: float,
        keepalive_seconds: float,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        # Kept, because asking for the running one is a system call.
        self._loop = loop
        self.target = target
        self._connect_seconds = connect_seconds
        self._keepalive_seconds = keepalive_seconds
        self._tls = tls
        self._idle: deque[Connection] = deque()
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    def reuse(self) -> Connection | None:
        """Return an idle connection that is still fresh, the last used first."""
        oldest = self._loop.time() - self._keepalive_seconds
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.idle_since > oldest:
                return connection
            connection.close()
        return None

    async def open(self) -> Connection:
        """Open a connection.

        Raises:
            UpstreamError: It was refused, or took longer than `connect_seconds`.
        """
        loop, target = self._loop, self.target
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, connection = await loop.create_connection(
                    lambda: Connection(loop), target.host, target.port, ssl=self._tls
                )
        except TimeoutError:
            raise UpstreamError(
                Reason.CONNECT_TIMEOUT,
                f"did not take the connection within {self._connect_seconds:g} s. "
                "Is the address right, and does a firewall let it through?",
            ) from None
        except OSError as error:
            if is_out_of_files(error):
                raise UpstreamError(
                    Reason.OUT_OF_FILES,
                    f"was not asked: specmeter may open no more files ({limit()}). {REMEDY}",
                ) from None
            raise UpstreamError(
                Reason.CANNOT_CONNECT,
                f"cannot be reached: {_plain(error)}. Is the server running, and is the URL right?",
            ) from None
        return connection

    def hand_back(self, connection: Connection) -> None:
        """Keep a connection for later use if it is fit for it, else close it."""
        if self._closed or not connection.reusable:
            connection.close()
            return
        if connection.reading_paused:
            connection.resume_reading()  # else nobody would, and its next answer never came
        loop = self._loop
        connection.idle_since = loop.time()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = loop.call_later(self._keepalive_seconds, self._close_stale)

    def close(self) -> None:
        """Close what is idle; what is under way is closed when handed back."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        while self._idle:
            self._idle.pop().close()

    def _close_stale(self) -> None:
        oldest = self._loop.time() - self._keepalive_seconds
        while self._idle and self._idle[0].idle_since <= oldest:
            self._idle.popleft().close()
        self._sweep = None
        if self._idle:
            again = self._idle[0].idle_since + self._keepalive_seconds
            self._sweep = self._loop.call_at(again, self._close_stale)


def _plain(error: Exception) -> str:
    """Say what went wrong without the address, which may be a list of them."""
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {str(error.reason or error).replace('_', ' ').lower()}"
    if isinstance(error, OSError) and error.strerror and error.errno is not None:
        return error.strerror.lower()
    return str(error).lower() or type(error).__name__
