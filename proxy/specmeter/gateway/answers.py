"""The answers that are specmeter's own."""

from __future__ import annotations

from email.utils import formatdate
from http import HTTPStatus

from specmeter.gateway.failures import error_body
from specmeter.gateway.request import AS_CAME


class RefusedError(Exception):
    """A request that specmeter answers itself, with an error."""

    def __init__(self, status: int, message: str, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.body = error_body(status, message, code, param)


def own_answer(
    status: int,
    body: bytes,
    *,
    request_id: bytes = b"",
    error: str | None = None,
    keep_alive: bool = False,
    http_1_0: bool = False,
    to_head_request: bool = False,
) -> bytes:
    """Return an answer with its head; `error` marks it as an error of specmeter's own."""
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json; charset=utf-8",
        f"Content-Length: {len(body)}",
        f"Date: {formatdate(usegmt=True)}",
        "Server: specmeter",
    ]
    if request_id:
        lines.append(f"x-request-id: {request_id.decode(*AS_CAME)}")
    if error is not None:
        lines.append(f"x-specmeter-error: {error}")
    if not keep_alive:
        lines.append("Connection: close")
    elif http_1_0:
        lines.append("Connection: keep-alive")
    head = "\r\n".join(lines).encode(*AS_CAME) + b"\r\n\r\n"
    return head if to_head_request else head + body
