"""An address behind which the server can be exchanged, as by a restart with other flags."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Exchanged:
    """Passes bytes on to the server of the moment."""

    def __init__(self, server_url: str) -> None:
        self._server = server_url
        self._open: set[asyncio.StreamWriter] = set()
        self.url = ""

    def exchange(self, server_url: str) -> None:
        """Pass on to another server; what is open breaks, as it does at a restart."""
        self._server = server_url
        for writer in self._open:
            writer.close()

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        address = urlsplit(self._server)
        upstream = await asyncio.open_connection(address.hostname, address.port)
        self._open |= {writer, upstream[1]}
        try:
            await asyncio.gather(_copy(reader, upstream[1]), _copy(upstream[0], writer))
        finally:
            self._open -= {writer, upstream[1]}


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def exchanged(server_url: str) -> AsyncIterator[Exchanged]:
    """Listen for the length of the block."""
    one = Exchanged(server_url)
    listener = await asyncio.start_server(one.pass_on, "127.0.0.1", 0)
    one.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield one
    finally:
        one.exchange("")
        listener.close()
