"""With several servers the model decides where a request goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tests.gateway.client import CHAT, Answer, Client, ask, chat, request
from tests.gateway.proxy import running, until
from tests.ports import closed_port
from tests.scripted import CHUNKED, Call, ScriptedUpstream, answer, chunked, cut, response


def listing(*models: str) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": model} for model in models]}).encode()


def completion(model: object) -> bytes:
    """A completion of ten tokens by a model."""
    timings = {"predicted_n": 10, "predicted_ms": 100.0, "prompt_n": 1, "cache_n": 0}
    return json.dumps({"model": model, "choices": [{"index": 0}], "timings": timings}).encode()


async def reply(call: Call) -> None:
    """Answer as whatever model the request names."""
    body = await call.body()
    try:
        named = json.loads(body)
    except ValueError:
        named = None
    model = named.get("model") if isinstance(named, dict) else None
    await call.send(response(completion(model)))


@pytest_asyncio.fixture
async def servers() -> AsyncIterator[list[ScriptedUpstream]]:
    """Give two servers: the first serves m1 and m2, the second m3."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(
            ScriptedUpstream(script=reply, models=listing("m1", "m2"))
        )
        second = await stack.enter_async_context(
            ScriptedUpstream(script=reply, models=listing("m3"))
        )
        yield [first, second]


def asking(model: object, **more: object) -> bytes:
    return json.dumps({"model": model, **more}).encode()


async def went(servers: list[ScriptedUpstream]) -> list[int]:
    """Return how many requests each server got."""
    return [len(server.requests) for server in servers]


@pytest.mark.parametrize(
    ("model", "index"), [("m1", 0), ("m2", 0), ("m3", 1)], ids=["m1", "m2", "m3"]
)
async def test_model_in_the_body(servers: list[ScriptedUpstream], model: str, index: int) -> None:
    """The server that lists a model gets its requests, and is counted for them."""
    body = asking(model, prompt="x" * 200_000)
    async with running(*(server.url for server in servers)) as proxy:
        got = await chat(proxy.url, body)
        metrics = await proxy.metrics()
    assert got.status == 200
    assert servers[index].requests[0].body == body
    assert servers[1 - index].requests == []
    assert metrics.by("completions_total", "upstream") == {"ab"[index]: 1}
    assert metrics.by("completions_total", "model_name") == {model: 1}


async def test_model_in_a_chunked_body(servers: list[ScriptedUpstream]) -> None:
    """A body in chunks is looked at too, and arrives whole."""
    body = asking("m3", prompt="x" * 5000)
    async with (
        running(*(server.url for server in servers)) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        await client.send(request("POST", CHAT, CHUNKED), *chunked(cut(body, "random")))
        assert (await client.answer()).status == 200
    assert servers[1].requests[0].body == body


async def test_client_that_waits_for_leave_to_send(servers: list[ScriptedUpstream]) -> None:
    """A client that expects 100 Continue gets it before its body is looked at."""
    body = asking("m3")
    async with (
        running(*(server.url for server in servers)) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        whole = request("POST", CHAT, (b"Expect", b"100-continue"), body=body)
        await client.send(whole.removesuffix(body))
        assert await client.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(body)
        assert (await client.answer()).status == 200
    assert servers[1].requests[0].body == body


@pytest.mark.parametrize("target", ["/slots?model=m3", "/x?a=b&model=m3&c", "/props?model=%6d3"])
async def test_model_in_the_query(servers: list[ScriptedUpstream], target: str) -> None:
    """Pages of one model are asked for with `?model=`, as llama.cpp's router takes it."""
    async with running(*(server.url for server in servers)) as proxy:
        assert (await ask(proxy.url, "GET", target)).status == 200
    assert await went(servers) == [0, 1]
    assert servers[1].requests[0].target == target.encode()


async def test_query_wins(servers: list[ScriptedUpstream]) -> None:
    """Where query and body differ, the query decides."""
    async with running(*(server.url for server in servers)) as proxy:
        target = f"{CHAT}?model=m1"
        assert (await ask(proxy.url, "POST", target, body=asking("m3"))).status == 200
    assert await went(servers) == [1, 0]


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"no JSON", b"[1]", asking(None), asking(5), asking(["m3"]), None]
)
async def test_no_model(servers: list[ScriptedUpstream], body: bytes | None) -> None:
    """A request that names no model goes to the first server."""
    async with running(*(server.url for server in servers)) as proxy:
        method = "GET" if body is None else "POST"
        assert (await ask(proxy.url, method, "/tokenize", body=body)).status == 200
    assert await went(servers) == [1, 0]


UNKNOWN = ["nope", "", "m1 ", "M1", "\u00fc\u0000\n", "x" * 100_000]


@pytest.mark.parametrize("model", UNKNOWN, ids=lambda model: repr(model[:10]))
async def test_unknown_model(servers: list[ScriptedUpstream], model: str) -> None:
    """A model that nobody serves is a 404 that names those who are; nobody is asked."""
    async with running(*(server.url for server in servers)) as proxy:
        got = await chat(proxy.url, asking(model))
        metrics = await proxy.metrics()
    assert got.status == 404
    assert got.error["code"] == "model_not_found"
    assert got.error["param"] == "model"
    assert "m1, m2, m3" in got.error["message"]
    assert len(got.body) < 2000
    assert await went(servers) == [0, 0]
    assert metrics.by("requests_total", "code") == {"404": 1}
    assert metrics.by("requests_total", "upstream") == {"none": 1}


async def test_unknown_model_in_an_odd_query(servers: list[ScriptedUpstream]) -> None:
    """A model in no known character set is one that nobody serves."""
    async with running(*(server.url for server in servers)) as proxy:
        got = await ask(proxy.url, "GET", "/x?model=%ff%fe")
    assert got.status == 404
    assert got.error["code"] == "model_not_found"


async def test_connection_goes_on_after_an_unknown_model(servers: list[ScriptedUpstream]) -> None:
    """The client may go on with another model on the same connection."""
    async with (
        running(*(server.url for server in servers)) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        for model, status in (("nope", 404), ("m3", 200), ("nope", 404), ("m1", 200)):
            await client.send(request("POST", CHAT, body=asking(model, prompt="x" * 100_000)))
            assert (await client.answer()).status == status


def ids(got: Answer) -> list[str]:
    listed = json.loads(got.body)
    assert listed["object"] == "list"
    assert {model["object"] for model in listed["data"]} <= {"model"}
    return [model["id"] for model in listed["data"]]


async def test_list_of_all_models(servers: list[ScriptedUpstream]) -> None:
    """`GET /v1/models` lists the models of all servers; with `?model=` one server answers."""
    async with running(*(server.url for server in servers)) as proxy:
        got = await ask(proxy.url, "GET", "/v1/models")
        assert got.status == 200
        assert ids(got) == ["m1", "m2", "m3"]
        assert len(got.all(b"x-request-id")) == 1
        servers[1].scripts["/v1/models"] = answer(response(b"the server's own list"))
        one = await ask(proxy.url, "GET", "/v1/models?model=m3")
        assert one.body == b"the server's own list"


async def test_one_server_of_two_is_down(servers: list[ScriptedUpstream]) -> None:
    """The models of those that answer are served; the others' are unknown."""
    with closed_port() as port:
        down = f"http://127.0.0.1:{port}"
        async with running(down, servers[1].url) as proxy:
            assert ids(await ask(proxy.url, "GET", "/v1/models")) == ["m3"]
            assert (await chat(proxy.url, asking("m3"))).status == 200
            assert (await chat(proxy.url, asking("m1"))).status == 404
            got = await chat(proxy.url, b"{}")  # names none, so it goes to the first
            assert (got.status, got.error["code"]) == (502, "upstream_cannot_connect")
            assert 'upstream "a"' in got.error["message"]


async def test_right_after_the_start(servers: list[ScriptedUpstream]) -> None:
    """A request that comes before the servers were asked for their models waits for that."""
    async with running(*(server.url for server in servers), wait_for_probe=False) as proxy:
        assert (await chat(proxy.url, asking("m3"))).status == 200
        assert await went(servers) == [0, 1]


async def test_model_that_appears_later(servers: list[ScriptedUpstream]) -> None:
    """A server that comes to serve a model gets its requests from then on."""
    async with running(*(server.url for server in servers), probe_seconds=0.05) as proxy:
        assert (await chat(proxy.url, asking("m4"))).status == 404
        servers[1].models = listing("m3", "m4")
        upstream = proxy.service.upstreams.all[1]
        await until(lambda: "m4" in upstream.models)
        assert (await chat(proxy.url, asking("m4"))).status == 200
        servers[1].models = listing("m3")
        await until(lambda: "m4" not in upstream.models)
        assert (await chat(proxy.url, asking("m4"))).status == 404
        metrics = await proxy.metrics()
    assert metrics.by("completions_total", "model_name") == {"m4": 1}


async def test_label_of_a_model_that_appears_later(upstream: ScriptedUpstream) -> None:
    """Before the name is known it is `other`, from then on its own."""
    upstream.script = reply
    upstream.models = listing("m1")
    async with running(upstream.url, probe_seconds=0.05) as proxy:
        await chat(proxy.url, asking("m2"))
        metrics = await proxy.metrics()
        assert metrics.by("completions_total", "model_name") == {"other": 1}
        upstream.models = listing("m1", "m2")
        await until(lambda: "m2" in proxy.service.upstreams.first.models)
        await chat(proxy.url, asking("m2"))
        metrics = await proxy.metrics()
        assert metrics.by("completions_total", "model_name") == {"other": 1, "m2": 1}


async def test_clients_mint_no_series(upstream: ScriptedUpstream) -> None:
    """Made-up names, paths and methods of clients add no labels."""
    upstream.script = reply
    upstream.models = listing("m1")
    async with running(upstream.url) as proxy:
        before = {(s.name, *s.labels.items()) for s in (await proxy.metrics()).samples}
        for number in range(20):
            await chat(proxy.url, asking(f"made-up-{number}"))
            await ask(proxy.url, "POST", f"/made/up/{number}", body=asking("m1"))
            await ask(proxy.url, "GET", f"/v1/{number}?model=x{number}")
        metrics = await proxy.metrics()
    assert metrics.by("completions_total", "model_name") == {"other": 20}
    # What a baseline and the slices are called is a closed set, and comes with a first completion.
    closed = {"slice", "baseline"}
    after = {
        (s.name, *s.labels.items())
        for s in metrics.samples
        if not closed & s.labels.keys() and not s.name.startswith("request_speedup_ratio")
    }
    assert {s.labels.get("model_name", "other") for s in metrics.samples} == {"m1", "other"}
    assert len(after - before) <= 3  # requests_total of `other`, and no more


async def test_two_servers_at_once(servers: list[ScriptedUpstream]) -> None:
    """Requests that run at the same time each find their own server."""
    async with running(*(server.url for server in servers)) as proxy:
        models = ["m1", "m3", "m2"] * 10
        got = await asyncio.gather(*(chat(proxy.url, asking(model)) for model in models))
    assert [json.loads(one.body)["model"] for one in got] == models
    assert await went(servers) == [20, 10]


async def test_configured_models(servers: list[ScriptedUpstream]) -> None:
    """Names from the configuration hold whatever the server lists."""
    async with running(servers[0].url, models=("mine",)) as proxy:
        await chat(proxy.url, asking("mine"))
        await chat(proxy.url, asking("m1"))
        metrics = await proxy.metrics()
    assert metrics.by("completions_total", "model_name") == {"mine": 1, "other": 1}


async def test_patterns_of_models(servers: list[ScriptedUpstream]) -> None:
    """All names that fit route there; only those that the server lists are labels."""
    async with running(servers[0].url, models=("m*", "mine")) as proxy:
        for model in ("m1", "mine", "m9", "x"):
            await chat(proxy.url, asking(model))
        metrics = await proxy.metrics()
    labels = metrics.by("completions_total", "model_name")
    assert labels == {"m1": 1, "mine": 1, "other": 2}


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        ([], [b"Bearer lent-key"]),
        ([(b"Authorization", b"Bearer own")], [b"Bearer own"]),
        ([(b"X-Api-Key", b"own")], []),
    ],
)
async def test_a_lent_key(
    servers: list[ScriptedUpstream],
    tmp_path: Path,
    sent: list[tuple[bytes, bytes]],
    arrives: list[bytes],
) -> None:
    """Clients without a key use the configured one; their own is never replaced."""
    key_file = tmp_path / "key"
    key_file.write_text("lent-key\n", encoding="utf-8")
    async with running(servers[0].url, api_key_file=str(key_file), lend_key=True) as proxy:
        await ask(proxy.url, "POST", CHAT, *sent, body=asking("m1"))
    assert servers[0].requests[-1].all(b"authorization") == arrives


async def test_a_key_that_is_not_lent(servers: list[ScriptedUpstream], tmp_path: Path) -> None:
    """The key for specmeter's own requests stays there unless told otherwise."""
    key_file = tmp_path / "key"
    key_file.write_text("own-key", encoding="utf-8")
    async with running(servers[0].url, api_key_file=str(key_file)) as proxy:
        await ask(proxy.url, "POST", CHAT, body=asking("m1"))
    assert servers[0].requests[-1].all(b"authorization") == []
