"""The admin listener: the live page, its API, metrics and health."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

from specmeter.api.routes import add_api
from specmeter.api.summary import Teller
from specmeter.keys import Keys, key_of
from specmeter.page.routes import add_page
from specmeter.upstream.upstreams import Upstreams

_OPEN = frozenset(("/healthz", "/readyz"))


def admin_app(
    registry: CollectorRegistry,
    upstreams: Upstreams,
    teller: Teller,
    *,
    catch_up: Callable[[], Awaitable[None]],
    takes_clients: Callable[[], bool],
    keys: Keys | None,
) -> web.Application:
    """Return the application of the admin listener.

    Args:
        registry: What `/metrics` shows.
        upstreams: What `/readyz` asks about.
        teller: What the page and its API show.
        catch_up: Has counted what has ended, before a scrape.
        takes_clients: Whether the data listener takes connections.
        keys: Of which one has to be brought, but for health; `None` if none is needed.
    """
    show = make_aiohttp_handler(registry)

    async def metrics(request: web.Request) -> web.StreamResponse:
        await catch_up()
        return await show(request)

    async def alive(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_: web.Request) -> web.Response:
        states = [f"{one.name} {_word(one.up)}" for one in upstreams.all]
        is_ready = any(one.up for one in upstreams.all)
        if not takes_clients():
            is_ready = False
            states.append("no worker takes connections: the log says why")
        return web.Response(text="\n".join(states) + "\n", status=200 if is_ready else 503)

    app = web.Application(middlewares=[] if keys is None else [_lock(keys)])
    add_page(app)
    add_api(app, teller)
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/healthz", alive)
    app.router.add_get("/readyz", ready)
    return app


def _word(up: bool | None) -> str:
    if up is None:
        return "not asked yet"
    return "up" if up else "down"


def _lock(keys: Keys) -> Middleware:
    """Let in who brings a key; whether it is alive may be asked by anybody."""

    @web.middleware
    async def lock(request: web.Request, handler: Handler) -> web.StreamResponse:
        authorization = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if request.path in _OPEN or keys.admit(key_of(authorization, None)):
            return await handler(request)
        return web.Response(
            status=401,
            text="bring one of the keys of admin_keys_file: as a bearer token, or as a password\n",
            headers={"WWW-Authenticate": 'Basic realm="specmeter", charset="UTF-8"'},
        )

    return lock
