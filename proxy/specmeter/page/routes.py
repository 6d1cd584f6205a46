"""Serves the live page's files."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from importlib.resources import files

from aiohttp import web

_Handler = Callable[[web.Request], Awaitable[web.Response]]

_TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    # No script can turn a text into markup, whatever a server calls its models.
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def add_page(app: web.Application) -> None:
    """Add the page at `/` and its files below `/page/`."""
    for entry in (files(__package__) / "static").iterdir():
        path = "/" if entry.name == "index.html" else f"/page/{entry.name}"
        kind = _TYPES[entry.name.rpartition(".")[2]]
        app.router.add_get(path, _handler(entry.read_bytes(), kind))


def _handler(content: bytes, kind: str) -> _Handler:
    etag = hashlib.sha256(content).hexdigest()[:16]

    async def handle(request: web.Request) -> web.Response:
        known = any(tag.value == etag for tag in request.if_none_match or ())
        response = (
            web.Response(status=304)
            if known
            else web.Response(body=content, content_type=kind, charset="utf-8")
        )
        response.headers.update(_HEADERS)
        response.etag = etag
        return response

    return handle
