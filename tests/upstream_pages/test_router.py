"""A llama.cpp router: only what is loaded is looked at, and nothing gets loaded by looking."""

from __future__ import annotations

import asyncio
import json

from tests.gateway.proxy import running, until
from tests.scripted import Call, ScriptedUpstream, response
from tests.upstream_pages.pages import llama_cpp
from tests.upstream_pages.served import OFTEN, TEXT, failed, has_numbers, status, until_shown

GENERATED = "upstream_generated_tokens_total"
RUNNING = "upstream_num_requests_running"


def listing(**states: str) -> bytes:
    """Return what a router lists, as in server-models.cpp."""
    models = [
        {"id": name, "aliases": [], "owned_by": "llamacpp", "status": {"value": state, "args": []}}
        for name, state in states.items()
    ]
    return json.dumps({"object": "list", "data": models}).encode()


async def router(call: Call) -> None:
    """Answer with the page of the model that is asked for."""
    await call.body()
    _, _, query = call.request.target.decode().partition("?")
    if not query.endswith("&autoload=false"):
        return await call.send(response(b'{"error":{"code":400}}', "400 Bad Request"))
    counted = {"a": 100, "b": 7}[query.removeprefix("model=").removesuffix("&autoload=false")]
    body = llama_cpp({"tokens_predicted_total": counted, "requests_processing": 1})
    return await call.send(response(body.encode(), "200 OK", TEXT))


async def test_loaded_models_only(upstream: ScriptedUpstream) -> None:
    """Each loaded model has its own series; the others are never asked for."""
    upstream.models = listing(a="loaded", b="loaded", c="unloaded", d="sleeping", e="loading")
    upstream.scripts["/metrics"] = router
    async with running(upstream.url, scrape=True, scrape_seconds=OFTEN) as proxy:
        metrics = await until_shown(proxy, has_numbers)
        metrics = await until_shown(proxy, lambda m: m.total(GENERATED, model_name="b"))
        assert metrics.by(GENERATED, "model_name") == {"a": 100, "b": 7}
        assert metrics.by("upstream_scrape_failures_total", "reason") == {}
    targets = {request.target for request in upstream.requests}
    assert targets == {b"/metrics?model=a&autoload=false", b"/metrics?model=b&autoload=false"}


async def test_a_model_that_is_unloaded(upstream: ScriptedUpstream) -> None:
    """Its counts stay, and it is not asked for again."""
    upstream.models = listing(a="loaded", b="loaded")
    upstream.scripts["/metrics"] = router
    async with running(upstream.url, scrape=True, scrape_seconds=OFTEN) as proxy:
        await until_shown(proxy, lambda m: m.total(RUNNING, model_name="b"))
        upstream.models = listing(a="loaded", b="unloaded")
        await until_shown(proxy, lambda m: m.total(RUNNING, model_name="b") is None)
        upstream.requests.clear()
        await until(lambda: len(upstream.requests) > 3)
        assert {request.target for request in upstream.requests} == {
            b"/metrics?model=a&autoload=false"
        }
        metrics = await proxy.metrics()
        assert metrics.by(GENERATED, "model_name") == {"a": 100, "b": 7}


async def test_a_router_with_nothing_loaded(upstream: ScriptedUpstream) -> None:
    """That is no failure, and nothing is asked for."""
    upstream.models = listing(a="unloaded")
    async with running(upstream.url, scrape=True, scrape_seconds=OFTEN) as proxy:
        seen = len(upstream.probes)
        await until(lambda: len(upstream.probes) > seen + 3)
        metrics = await proxy.metrics()
        assert metrics.by("upstream_scrape_failures_total", "reason") == {}
    assert upstream.requests == []


async def test_one_model_that_fails(upstream: ScriptedUpstream) -> None:
    """The other ones are read all the same."""

    async def half(call: Call) -> None:
        broken = b"model=b" in call.request.target
        await (status("400 Bad Request") if broken else router)(call)

    upstream.models = listing(b="loaded", a="loaded")
    upstream.scripts["/metrics"] = half
    async with running(upstream.url, scrape=True, scrape_seconds=OFTEN) as proxy:
        metrics = await until_shown(proxy, has_numbers)
        assert metrics.by(GENERATED, "model_name") == {"a": 100}
        assert failed(metrics, "bad_status")


async def test_a_listing_that_cannot_be_had(upstream: ScriptedUpstream) -> None:
    """Without it no page is asked for: it may be a router."""
    asked = asyncio.Event()

    async def refuse_after_the_first(call: Call) -> None:
        if not asked.is_set():
            asked.set()
            await call.send(response(listing(a="unloaded")))
        else:
            await status("503 Service Unavailable")(call)

    upstream.scripts["/v1/models"] = refuse_after_the_first
    async with running(upstream.url, scrape=True, scrape_seconds=OFTEN) as proxy:
        await until_shown(proxy, lambda m: failed(m, "bad_status"))
    assert {request.target for request in upstream.requests} == {b"/v1/models"}
