from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import aiohttp
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from specmeter.demo.tally import Ratio
from specmeter.demo.traffic import OTHER_CLIENT, Results, Traffic
from specmeter.errors import SpecmeterError
from specmeter.reading import Reading
from tests.demo.completions import completion

MODELS = {"plain": "model-p", "drafting": "model-d"}
USAGE = '{"choices": [], "usage": {"completion_tokens": 40}}'

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.Response]]
Serve: TypeAlias = Callable[[Handler], Awaitable[str]]


class Proxy:
    """A server that answers like the proxy and tells the traffic what it read.

    Before every answer another client's completion ends on the same upstream.
    """

    def __init__(self, results: Results) -> None:
        self.traffic = Traffic(MODELS, results)
        self.asked: list[dict[str, Any]] = []

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        upstream = {"model-p": "plain", "model-d": "drafting"}[body["model"]]
        ours = completion(
            Reading(generated=40, drafted=20, accepted=10, decode_seconds=0.5),
            upstream,
            streamed=body["stream"],
        )
        other = msgspec.structs.replace(ours, reading=Reading(generated=7))
        self.traffic.observe(other)
        self.traffic.observe(ours)
        if body["stream"]:
            text = f'data: {{"choices": []}}\n\ndata: {USAGE}\n\ndata: [DONE]\n\n'
            return web.Response(text=text, content_type="text/event-stream")
        return web.Response(text=USAGE, content_type="application/json")


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Give a function that starts a server for chat completions and returns its URL."""
    servers: list[TestServer] = []

    async def start(handler: Handler) -> str:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", handler)
        server = TestServer(app)
        servers.append(server)
        await server.start_server()
        return str(server.make_url("")).rstrip("/")

    yield start
    for server in servers:
        await server.close()


async def test_every_prompt_goes_to_every_upstream(serve: Serve) -> None:
    """A prompt that was begun is answered by both upstreams, though the time is over."""
    results = Results()
    proxy = Proxy(results)
    await proxy.traffic.run(await serve(proxy.answer), seconds=1e-9)
    assert [body["model"] for body in proxy.asked] == ["model-p", "model-d"]
    assert proxy.asked[0]["messages"] == proxy.asked[1]["messages"]
    assert results.asking is None


async def test_rounds_go_on_until_the_time_is_over(serve: Serve) -> None:
    """The mix is repeated while there is time, in both orders alike."""
    proxy = Proxy(Results())
    await proxy.traffic.run(await serve(proxy.answer), seconds=0.5)
    models = [body["model"] for body in proxy.asked]
    assert len(models) > 12
    assert models[:4] == ["model-p", "model-d", "model-d", "model-p"]


async def test_other_clients_count_in_the_totals_only(serve: Serve) -> None:
    """What another client asked is shown and summed, but not compared."""
    results = Results()
    proxy = Proxy(results)
    await proxy.traffic.run(await serve(proxy.answer), seconds=1e-9)
    assert [row.prompt for row in results.rows] == [OTHER_CLIENT, "code, stream"] * 2
    assert results.totals["drafting"].completions == 2
    assert results.compared["drafting"].completions == 1
    assert results.compared["drafting"].acceptance == Ratio(10, 20)


async def test_refused_request_ends_the_traffic(serve: Serve) -> None:
    """An answer that is no completion is told with its status and the model asked."""

    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=502, text='{"error": {"message": "gone"}}')

    traffic = Traffic(MODELS, Results())
    with pytest.raises(SpecmeterError, match=r"model-p got HTTP 502: .*gone"):
        await traffic.run(await serve(refuse), seconds=5)


async def test_broken_connection_ends_the_traffic() -> None:
    """A proxy that is not there is told."""
    traffic = Traffic(MODELS, Results())
    with pytest.raises(SpecmeterError, match="request to model-p failed") as caught:
        await traffic.run("http://127.0.0.1:1", seconds=5)
    assert isinstance(caught.value.__cause__, aiohttp.ClientError)
