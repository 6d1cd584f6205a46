"""The addresses below `/api`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from aiohttp import web

from specmeter.api import VERSION
from specmeter.api.events import MOST_PAGES, Events
from specmeter.api.feed import Feed, Wish
from specmeter.api.rows import RowOut, as_csv, row_out
from specmeter.api.summary import Teller
from specmeter.history.history import LATEST, Model
from specmeter.history.timeline import RANGES, Range

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_NO_STORE = {"Cache-Control": "no-store"}
_DEFAULT_RANGE = "1h"


class Completions(msgspec.Struct, frozen=True):
    """The latest completions, newest first."""

    version: int
    rows: list[RowOut]


class _FaultError(Exception):
    """A parameter is at fault; the text names it, its value and what it may be."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


def add_api(app: web.Application, teller: Teller, tick_seconds: float = 1.0) -> None:
    """Add the API to an application; made within the loop it runs in.

    Args:
        app: Gets the routes.
        teller: What knows.
        tick_seconds: How often an open page is sent something at most.
    """
    feed = Feed(teller, asyncio.get_running_loop().time, tick_seconds)
    api = _Api(teller, feed, Events(feed))
    for path, handler in (
        ("summary", api.summary),
        ("series", api.series),
        ("completions", api.completions),
        ("events", api.events),
    ):
        app.router.add_get(f"/api/{path}", _told(handler), allow_head=False)
    app.on_shutdown.append(api.stop)


def _told(handler: _Handler) -> _Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except _FaultError as fault:
            return _json({"error": str(fault)}, fault.status)

    return handle


class _Api:
    def __init__(self, teller: Teller, feed: Feed, events: Events) -> None:
        self._teller = teller
        self._events = events
        self._feed = feed

    async def stop(self, _: web.Application) -> None:
        self._events.stop()

    async def summary(self, request: web.Request) -> web.Response:
        return _json(self._teller.summary(_range(request.query)))

    async def series(self, request: web.Request) -> web.Response:
        of = _range(request.query)
        model = self._model(request.query)
        if model is None:
            raise _FaultError("upstream and model: missing; /api/summary lists them")
        return _json(self._teller.series(model, of))

    async def completions(self, request: web.Request) -> web.Response:
        query = request.query
        limit = _whole(query, "limit", LATEST, most=LATEST)
        rows = [
            row
            for row in map(row_out, reversed(self._teller.history.after(0)))
            if query.get("upstream", row.upstream) == row.upstream
            and query.get("model", row.model) == row.model
        ][:limit]
        kind = query.get("format", "json")
        if kind == "csv":
            headers = _NO_STORE | {
                "Content-Disposition": 'attachment; filename="specmeter-completions.csv"'
            }
            return web.Response(text=as_csv(rows), content_type="text/csv", headers=headers)
        if kind != "json":
            raise _FaultError(f'format: "{kind[:50]}" is neither json nor csv')
        return _json(Completions(VERSION, rows))

    async def events(self, request: web.Request) -> web.StreamResponse:
        if self._events.open >= MOST_PAGES:
            raise _FaultError(f"{MOST_PAGES} pages are open already: close one", 503)
        query = request.query
        model = Model(query.get("upstream", ""), query.get("model", ""))
        wish = Wish(_range(query), model)
        id_ = request.headers.get("Last-Event-ID") or query.get("after", "")
        return await self._events.serve(request, wish, self._feed.after(id_))

    def _model(self, query: Mapping[str, str]) -> Model | None:
        if "upstream" not in query and "model" not in query:
            return None
        model = Model(query.get("upstream", ""), query.get("model", ""))
        if not self._teller.has(model):
            raise _FaultError(
                f'upstream "{model.upstream[:50]}" with model "{model.name[:50]}": unknown; '
                "/api/summary lists them",
                404,
            )
        return model


def _range(query: Mapping[str, str]) -> Range:
    name = query.get("range", _DEFAULT_RANGE)
    found = RANGES.get(name)
    if found is None:
        raise _FaultError(f'range: "{name[:50]}" is none of {", ".join(RANGES)}')
    return found


def _whole(query: Mapping[str, str], key: str, default: int, most: int) -> int:
    text = query.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 0 < int(text) <= most):  # noqa: PLR2004
        raise _FaultError(f'{key}: "{text[:50]}" is no number from 1 to {most}')
    return int(text)


def _json(what: object, status: int = 200) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(what),
        status=status,
        content_type="application/json",
        headers=_NO_STORE,
    )
