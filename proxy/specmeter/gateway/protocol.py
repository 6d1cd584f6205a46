"""The client's side of the data listener: aiohttp's server, told how to speak to our clients."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import StreamReader, web
from aiohttp.web_protocol import RequestHandler, _ErrInfo

from specmeter.gateway.failures import error_body

if TYPE_CHECKING:
    from specmeter.gateway.relay import Relay

KEEPALIVE_SECONDS = 75.0
"""How long a client's idle connection is kept."""

MAX_HEADER_BYTES = 64 * 1024
"""The longest request line or single header."""

_POLL_SECONDS = 0.01


class DataProtocol(RequestHandler):
    """One client's connection."""

    def __init__(self, *args: Any, on_bad_request: Callable[[], None], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._on_bad_request = on_bad_request
        self._body: StreamReader | None = None
        """The body of the last request that came."""
        self.busy = False
        """Whether a request is being answered."""
        self.relay: Relay | None = None
        """The answer that is being handed on."""

    @property
    def is_idle(self) -> bool:
        """Whether it may be closed without cutting anybody off."""
        return not self.busy and not self._messages

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        super().data_received(data)
        if not self._messages:
            return
        message, body = self._messages[-1]
        if not isinstance(message, _ErrInfo):
            self._body = body
        elif self._body is not None and not self._body.is_eof():
            # Who reads this body would wait for the rest: aiohttp tells of the fault only later.
            self._body.set_exception(web.RequestPayloadError(_first_line(message.message)))
            self._body.feed_eof()

    async def until_taken(self) -> None:
        """Wait until the client has taken most of what was written, or is gone."""
        with contextlib.suppress(ConnectionError):
            await self._drain_helper()

    def resume_writing(self) -> None:
        """The client has caught up: let the upstream go on."""
        super().resume_writing()
        if self.relay is not None:
            self.relay.on_client_ready()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no HTTP, or a fault of our own, in OpenAI's shape."""
        if status >= 500 or exc is None:  # noqa: PLR2004
            return super().handle_error(request, status, exc, message)
        self._on_bad_request()
        told = f"the request is malformed: {_first_line(message)}"
        answer = web.Response(
            status=status,
            body=error_body(status, told, "bad_request"),
            content_type="application/json",
        )
        answer.force_close()
        return answer


def _first_line(message: str | None) -> str:
    """Leave out the further lines: they repeat the client's bytes, and with them maybe a secret."""
    return (message or "").strip().partition("\n")[0].rstrip(":")


class DataServer(web.Server):
    """The data listener's server."""

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        on_bad_request: Callable[[], None],
    ) -> None:
        # A handler has to learn at once that its client has left, not at its next write.
        super().__init__(handler, handler_cancellation=True)
        self._on_bad_request = on_bad_request

    def __call__(self) -> DataProtocol:
        """Make the protocol of a new connection."""
        return DataProtocol(
            self,
            loop=self._loop,
            on_bad_request=self._on_bad_request,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=KEEPALIVE_SECONDS,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
        )

    async def drain(self) -> None:
        """Close what is idle, and wait until the rest has its answer and is closed."""
        for connection in self.connections:
            if isinstance(connection, DataProtocol) and connection.is_idle:
                connection.force_close()
        while self._connections:  # noqa: ASYNC110 - aiohttp tells nobody when the last one ends
            await asyncio.sleep(_POLL_SECONDS)

    async def cut_off(self) -> None:
        """Close every connection at once, and wait until its handler has ended."""
        for transport in self._connections.values():
            transport.abort()
        while self._connections:  # noqa: ASYNC110 - aiohttp tells nobody when the last one ends
            await asyncio.sleep(_POLL_SECONDS)
