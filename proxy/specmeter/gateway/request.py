"""A request as it goes to an upstream."""

from __future__ import annotations

import random
from collections.abc import Iterable
from urllib.parse import parse_qs

import orjson

from specmeter.config import Target
from specmeter.gateway.http1 import Field, end_to_end

_OURS = frozenset((b"host", b"content-length", b"expect", b"x-request-id"))
AS_CAME = ("utf-8", "surrogateescape")
"""How the bytes of a client become text, so that the same bytes go out."""


def request_start(
    method: str, path: str, fields: Iterable[Field], target: Target, *, identity: bool
) -> bytes:
    """Return what begins the request that an upstream gets, up to the framing of its body.

    Args:
        method: As the client sent it.
        path: The target, verbatim.
        fields: The client's headers.
        target: Where it goes.
        identity: Whether to ask for an answer that is not compressed.
    """
    lines = [
        f"{method} {target.prefix}{path} HTTP/1.1\r\nHost: {target.authority}\r\n".encode(*AS_CAME)
    ]
    for name, value in end_to_end(fields):
        lowered = name.lower()
        if lowered in _OURS or (identity and lowered == b"accept-encoding"):
            continue
        lines.append(b"%b: %b\r\n" % (name, value))
    if identity:
        lines.append(b"Accept-Encoding: identity\r\n")
    return b"".join(lines)


def request_end(request_id: bytes, *, body_length: int | None, chunked: bool) -> bytes:
    """Return the rest of the head.

    Args:
        request_id: For `x-request-id`.
        body_length: The length to announce; `None` announces none.
        chunked: Whether the body goes in chunks.
    """
    end = b"x-request-id: %b\r\n\r\n" % request_id
    if chunked:
        return b"Transfer-Encoding: chunked\r\n" + end
    if body_length is not None:
        return b"Content-Length: %d\r\n%b" % (body_length, end)
    return end


class RequestIds:
    """Makes ids for requests that come without one: unlikely to meet again, and no secret."""

    def __init__(self) -> None:
        self._random = random.Random()  # noqa: S311 - system randomness costs a system call

    def new(self) -> bytes:
        """Return 32 hexadecimal digits."""
        return b"%032x" % self._random.getrandbits(128)


def model_in_query(path: str) -> str | None:
    """Return the model that a request's query names, as routers take it."""
    query = path.partition("?")[2]
    if "model=" not in query:
        return None
    return parse_qs(query).get("model", [None])[0]


def asks_for_stream(body: bytes) -> bool:
    """Whether a JSON body asks for its answer in pieces as it is generated."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(parsed, dict) and parsed.get("stream") is True


def model_in_body(body: bytes) -> str | None:
    """Return the model that a JSON body names."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    model = parsed.get("model") if isinstance(parsed, dict) else None
    return model if isinstance(model, str) else None
