"""The client's side of the data listener: aiohttp's server, told how to speak to our clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from specmeter.gateway.failures import error_body

if TYPE_CHECKING:
    from specmeter.gateway.relay import Relay

KEEPALIVE_SECONDS = 75.0
"""How long a client's idle connection is kept."""

MAX_HEADER_BYTES = 64 * 1024
"""The longest request line or single header."""


class DataProtocol(RequestHandler):
    """One client's connection."""

    def __init__(self, *args: Any, on_bad_request: Callable[[], None], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._on_bad_request = on_bad_request
        self.busy = False
        """Whether a request is being answered."""
        self.relay: Relay | None = None
        """The answer that is being handed on."""

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
        # The message's further lines repeat the client's bytes, and with them maybe a secret.
        first_line = (message or "").strip().partition("\n")[0].rstrip(":")
        self._on_bad_request()
        answer = web.Response(
            status=status,
            body=error_body(status, f"the request is malformed: {first_line}", "bad_request"),
            content_type="application/json",
        )
        answer.force_close()
        return answer


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

    def close_idle(self) -> None:
        """Close the connections on which nothing is being answered."""
        for connection in self.connections:
            if isinstance(connection, DataProtocol) and not connection.busy:
                connection.close()
