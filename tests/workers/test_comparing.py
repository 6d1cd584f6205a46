"""Holdout and shadow with workers: clients see what they would with one process."""

from __future__ import annotations

import asyncio
import os

import orjson

from tests.answers import DONE
from tests.gateway.client import CHAT, Answer, Client, request
from tests.gateway.plain import compared, completion, held_out, plain_server
from tests.gateway.plain import request as asking
from tests.gateway.proxy import Proxy
from tests.scripted import SECONDS, Call, ScriptedUpstream, answer, event_stream, response
from tests.workers.processes import metrics_with, one_on_each

HEADER = b"x-specmeter-holdout"
SPEC = response(completion("spec", drafted=40))
PLAIN = response(completion("plain"))
ASKED = asking(stream=True)


async def say(client: Client, body: bytes = ASKED) -> Answer:
    await client.send(request("POST", CHAT, body=body))
    return await client.answer()


async def each(proxy: Proxy) -> list[Client]:
    return list((await one_on_each(proxy.url, os.getpid())).values())


async def test_both_workers_hold_out() -> None:
    """Each proves the plain server for itself; what clients got from there is counted once."""
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(answer(PLAIN)) as plain,
        compared(spec.url, plain.url, holdout=0.5, workers=2) as proxy,
    ):
        by_plain = total = 0
        for client in await each(proxy):
            async with client, asyncio.timeout(SECONDS):
                here = 0
                while here < 3:
                    got = await say(client)
                    total += 1
                    is_plain = bool(got.all(HEADER))
                    drafts = {} if is_plain else {"drafted": 40}
                    assert got.body == completion("plain" if is_plain else "spec", **drafts)
                    here += is_plain
                by_plain += here
        metrics = await proxy.metrics()
        assert metrics.by("holdout_requests_total", "result") == {"answered": by_plain}
        assert metrics.by("completions_total", "upstream") == {
            "plain": by_plain,
            "spec": total - by_plain,
        }
        assert len(held_out(plain)) == by_plain
        stands_for = [seen.stands_for for seen in proxy.seen if seen.upstream == "plain"]
        assert stands_for == [("spec", "other")] * by_plain


async def test_a_plain_server_that_fails() -> None:
    """Its request goes to the other one after all, and that is counted in the main process."""
    fails = False

    async def script(call: Call) -> None:
        is_copy = call.request.is_specmeters
        status = "503 Service Unavailable" if fails and not is_copy else "200 OK"
        await call.body()
        await call.send(response(completion("plain"), status))

    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(script) as plain,
        compared(spec.url, plain.url, holdout=0.5, workers=2) as proxy,
    ):
        client, other = await each(proxy)
        async with client, other, asyncio.timeout(SECONDS):
            while not (await say(client)).all(HEADER):
                pass
            fails = True
            before = len(held_out(plain))
            while len(held_out(plain)) == before:
                assert (await say(client)).body == completion("spec", drafted=40)
        metrics = await proxy.metrics()
        assert metrics.by("holdout_requests_total", "result") == {"answered": 1, "fell_back": 1}
        assert set(metrics.by("requests_total", "code")) == {"200"}


async def test_replays() -> None:
    """The main process replays what workers carried, and has the plain server's requests count."""
    whole = orjson.loads(completion("spec", milliseconds=1200.0))
    chunk = {**whole, "choices": [{"index": 0, "delta": {"content": "spec"}}]}
    stream = b"data: " + orjson.dumps(chunk) + b"\n\n" + DONE
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(event_stream(stream)) as plain,
        compared(spec.url, plain.url, shadow=1.0, shadow_per_minute=6000.0, workers=2) as proxy,
    ):
        body = asking(temperature=0)
        for number, client in enumerate(await each(proxy)):
            async with client:
                assert (await say(client, body)).body == completion("spec", drafted=40)
                await metrics_with(proxy, "output_checks_total", number + 1)
        metrics = await proxy.metrics()
        assert metrics.by("shadow_replays_total", "result") == {"done": 2}
        assert metrics.by("output_checks_total", "result") == {"identical": 2}
        asked = [orjson.loads(one.body) for one in plain.requests]
        assert asked == [orjson.loads(body) | {"stream": True, "max_tokens": 41}] * 2
