"""What the main process finds out about upstreams, every worker knows."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import orjson
import pytest

from specmeter.workers.member import Member
from specmeter.workers.messages import Hello
from tests.gateway.client import CHAT, Client, ask, chat, request
from tests.gateway.command import serving
from tests.gateway.proxy import Proxy, running, until
from tests.replay import VLLM_STREAM, VLLM_STREAM_ASKED, model_list
from tests.scripted import (
    EVENTS,
    SECONDS,
    Call,
    ScriptedUpstream,
    answer,
    event_stream,
    response,
)
from tests.sglang_answers import text_stream
from tests.workers.processes import one_on_each, workers_of

STREAM = b'{"model":"m","stream":true}'


def listing(*models: str) -> bytes:
    return orjson.dumps({"object": "list", "data": [{"id": model} for model in models]})


def asked(body: bytes) -> bool:
    """Whether a request asks for usage."""
    return bool((orjson.loads(body).get("stream_options") or {}).get("include_usage"))


async def at_each(proxy: Proxy, done: Callable[[Client], Awaitable[bool]]) -> None:
    """Do something at each worker until it is true there."""
    for client in (await one_on_each(proxy.url, os.getpid())).values():
        async with client, asyncio.timeout(SECONDS):
            while not await done(client):
                pass


async def test_the_kind(upstream: ScriptedUpstream) -> None:
    """Once it is known, each worker asks vLLM's streams for usage, and takes it out again."""

    async def vllm(call: Call) -> None:
        body = await call.body()
        await event_stream(VLLM_STREAM_ASKED if asked(body) else VLLM_STREAM)(call)

    async def is_asked(client: Client) -> bool:
        await client.send(request("POST", CHAT, body=STREAM))
        assert (await client.answer()).body == VLLM_STREAM
        return asked(upstream.requests[-1].body)

    upstream.models, upstream.script = model_list("vllm/chat"), vllm
    async with running(upstream.url, workers=2) as proxy:
        await at_each(proxy, is_asked)


async def test_what_one_worker_learned_of_usage(upstream: ScriptedUpstream) -> None:
    """Whether SGLang's streams end with usage is watched at one, and known at the other."""

    async def sglang(call: Call) -> None:
        body = orjson.loads(await call.body())
        drafts = bool(body.get("return_spec_tokens_details"))
        await event_stream(text_stream(drafts=drafts, usage=asked(call.request.body)))(call)

    async def send(client: Client) -> bool:
        await client.send(request("POST", "/v1/completions", body=STREAM))
        assert (await client.answer()).body == text_stream()
        return asked(upstream.requests[-1].body)

    upstream.script = sglang
    async with running(upstream.url, workers=2, backend="sglang") as proxy:
        first, second = (await one_on_each(proxy.url, os.getpid())).values()
        async with first, second, asyncio.timeout(SECONDS):
            assert not await send(first)
            await until(lambda: proxy.service.upstreams.first.usage_unasked is False)
            while not await send(second):
                pass


async def test_a_server_that_compresses(upstream: ScriptedUpstream) -> None:
    """What one worker found out costs the other's clients no stream with an addition."""
    body = gzip.compress(VLLM_STREAM)
    upstream.script = answer(response(body, "200 OK", EVENTS, (b"Content-Encoding", b"gzip")))

    async def send(client: Client) -> bool:
        await client.send(request("POST", CHAT, body=STREAM))
        assert (await client.answer()).body == body
        return asked(upstream.requests[-1].body)

    async with running(upstream.url, workers=2, backend="vllm") as proxy:
        first, second = (await one_on_each(proxy.url, os.getpid())).values()
        async with first, second, asyncio.timeout(SECONDS):
            assert await send(first)
            assert not await send(first)
            await until(lambda: proxy.service.upstreams.first.compresses)
            while await send(second):
                pass
            metrics = await proxy.metrics()
            unread = metrics.by("unread_completions_total", "reason")
            assert unread == {"compressed": len(upstream.requests)}


async def test_a_model_that_is_new() -> None:
    """A model that no worker knows has the upstreams asked; then its requests go there."""
    async with (
        ScriptedUpstream(answer(response(b'"a"')), models=listing("m1")) as first,
        ScriptedUpstream(answer(response(b'"b"')), models=listing()) as second,
        running(first.url, second.url, workers=2) as proxy,
    ):
        assert (await chat(proxy.url, b'{"model":"m1"}')).body == b'"a"'
        got = await chat(proxy.url, b'{"model":"m2"}')
        assert (got.status, got.error["code"]) == (404, "model_not_found")
        assert "m1" in got.error["message"]
        proxy.service._probe._answered_at.clear()  # as if that was a while ago
        second.models = listing("m2")
        assert (await chat(proxy.url, b'{"model":"m2"}')).body == b'"b"'
        models = orjson.loads((await ask(proxy.url, "GET", "/v1/models")).body)["data"]
        assert {one["id"]: one["owned_by"] for one in models} == {"m1": "a", "m2": "b"}


async def test_a_model_that_comes_while_a_worker_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker knows of it that was told what there was, and is not yet among the others."""
    begin = Member.start
    async with (
        ScriptedUpstream(answer(response(b'"a"')), models=listing("m1")) as first,
        ScriptedUpstream(answer(response(b'"b"')), models=listing()) as second,
        running(first.url, second.url, workers=2) as proxy,
    ):
        spec = proxy.service.upstreams.all[1]

        async def slow(member: Member, hello: Hello, descriptors: Sequence[int]) -> None:
            await begin(member, hello, descriptors)
            spec.models = frozenset(("m2",))
            proxy.service._front.tell_news()

        monkeypatch.setattr(Member, "start", slow)
        killed, stays = workers_of(os.getpid())
        os.kill(killed, signal.SIGKILL)
        await until(lambda: bool(set(workers_of(os.getpid())) - {killed, stays}))
        for client in (await one_on_each(proxy.url, os.getpid())).values():
            async with client:
                await client.send(request("POST", CHAT, body=b'{"model":"m2"}'))
                assert (await client.answer()).body == b'"b"'


@pytest.mark.parametrize("fate", ["killed", "hangs"])
async def test_nobody_to_ask(tmp_path: Path, fate: str) -> None:
    """Without a main process that answers, a request for an unknown model is told so in time."""
    async with (
        ScriptedUpstream(models=listing("m1")) as first,
        ScriptedUpstream(models=listing("m2")) as second,
    ):
        config = tmp_path / "config.toml"
        config.write_text(
            "workers = 2\n"
            f'[[upstream]]\nname = "a"\nurl = "{first.url}"\n'
            f'[[upstream]]\nname = "b"\nurl = "{second.url}"\n'
        )
        async with serving(None, "--config", str(config)) as command:
            url, _ = await command.urls()
            for _ in range(2):
                await command.read_until("upstream . at .* answers")
            async with await Client.connect(url) as client:
                command.process.send_signal(signal.SIGSTOP)
                await client.send(request("POST", CHAT, body=b'{"model":"m3"}'))
                if fate == "killed":
                    command.process.kill()
                got = await client.answer()
                assert (got.status, got.error["code"]) == (404, "model_not_found")
            if fate == "hangs":
                command.process.kill()
            await command.end()
