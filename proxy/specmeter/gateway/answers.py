"""The answers that aiohttp is given: those it sends itself, and those that are out already."""

from __future__ import annotations

from aiohttp import web

from specmeter.gateway.exchange import Exchange
from specmeter.gateway.failures import error_body


class RefusedError(Exception):
    """A request that specmeter answers itself, with an error."""

    def __init__(self, status: int, message: str, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.body = error_body(status, message, code, param)


class Relayed(web.StreamResponse):
    """Tells aiohttp that the answer is with the client already."""

    def __init__(self, *, keep_alive: bool) -> None:
        super().__init__()
        self._stays_open = keep_alive

    @property
    def keep_alive(self) -> bool:
        """Whether the client may send another request."""
        return self._stays_open

    async def prepare(self, _request: web.BaseRequest) -> None:
        """Send no head: it is out."""

    async def write_eof(self, _data: bytes = b"") -> None:
        """Send no end: it is out."""


def own_answer(
    exchange: Exchange, status: int, body: bytes, *, error: str | None, keep_alive: bool
) -> web.Response:
    """Return an answer of specmeter's own; `error` marks it as such for operators."""
    exchange.code = status
    headers = {"x-request-id": exchange.request_id, "Server": "specmeter"}
    if error is not None:
        headers["x-specmeter-error"] = error
    answer = web.Response(
        status=status, body=body, headers=headers, content_type="application/json"
    )
    if not keep_alive:
        answer.force_close()
    return answer
