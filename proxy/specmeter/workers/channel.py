"""One end of what connects the main process with a worker: messages over a pair of sockets."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Generic, TypeVar, cast

import msgspec

from specmeter.fault import Fault
from specmeter.workers.messages import Message

T = TypeVar("T")

_LENGTH_BYTES = 4

_log = logging.getLogger("specmeter")


class Channel(asyncio.Protocol, Generic[T]):
    """Sends messages and takes those of the other side; neither waits for the other.

    Args:
        decode: Makes messages of their bytes.
        on_message: Gets each.
    """

    def __init__(self, decode: Callable[[bytearray], T], on_message: Callable[[T], None]) -> None:
        self._decode = decode
        self.on_message = on_message
        self._encode = msgspec.msgpack.Encoder().encode
        self._transport: asyncio.WriteTransport | None = None
        self._come = bytearray()
        self.lost = asyncio.Event()
        """Set once nothing more comes: the other side has closed it, or its process has ended."""

    async def connect(self, ours: socket.socket) -> None:
        """Begin, on one of the two sockets."""
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: self, sock=ours)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def send(self, message: Message) -> None:
        """Send a message; it is dropped if nobody is there to get it."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        data = self._encode(message)
        transport.writelines((len(data).to_bytes(_LENGTH_BYTES), data))

    @property
    def unsent_bytes(self) -> int:
        """What the other side has not taken yet, beside what the system keeps for it."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        come = self._come
        come += data
        start = 0
        while len(come) - start >= _LENGTH_BYTES:
            body = start + _LENGTH_BYTES
            end = body + int.from_bytes(come[start:body])
            if len(come) < end:
                break
            self._take(come[body:end])
            start = end
        del come[:start]

    def _take(self, data: bytearray) -> None:
        try:
            self.on_message(self._decode(data))
        except Exception as error:  # noqa: BLE001 - one message must not cost the others
            _log.error("cannot take a message: %s", Fault.of(error))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Tell that nothing more comes."""
        self._transport = None
        self.lost.set()

    def close(self) -> None:
        """Close once all is sent."""
        if self._transport is not None:
            self._transport.close()
