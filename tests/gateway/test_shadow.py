"""Finished requests are replayed on the plain upstream: unseen, and only while there is room."""

import asyncio
import logging
from typing import Any

import orjson
import pytest

from tests.answers import DONE
from tests.gateway.client import chat
from tests.gateway.plain import compared, completion, plain_server, request
from tests.gateway.proxy import Proxy, until
from tests.scripted import Call, ScriptedUpstream, answer, event_stream, response, then_hang

OFTEN: dict[str, Any] = {"shadow": 1.0, "shadow_per_minute": 6000.0}


def stream(text: str, milliseconds: float = 1200.0) -> bytes:
    """The plain server's answer as events, with the numbers of `completion`."""
    whole = orjson.loads(completion(text, milliseconds=milliseconds))
    chunk = {**whole, "choices": [{"index": 0, "delta": {"content": text}}]}
    return b"data: " + orjson.dumps(chunk) + b"\n\n" + DONE


def server(text: str = "spec") -> ScriptedUpstream:
    return ScriptedUpstream(answer(response(completion(text, drafted=40))))


async def replayed(proxy: Proxy, count: int, result: str = "done") -> None:
    """Wait until so many replays have come to this end."""
    async with asyncio.timeout(10):
        while True:
            metrics = await proxy.metrics()
            if metrics.total("shadow_replays_total", result=result) == count:
                return
            await asyncio.sleep(0.02)


async def test_a_replay_asks_for_the_same_at_the_same_length() -> None:
    """The request as it was, streamed, for as many tokens as were generated; without any key."""
    async with (
        server() as spec,
        plain_server(event_stream(stream("spec"))) as plain,
        compared(spec.url, plain.url, **OFTEN) as proxy,
    ):
        key = (b"Authorization", b"Bearer sk-secret")
        await chat(proxy.url, request(temperature=0.7), key)
        await replayed(proxy, 1)
        (sent,) = plain.requests
        asked = orjson.loads(request(temperature=0.7))
        assert orjson.loads(sent.body) == asked | {"stream": True, "max_tokens": 41}
        assert not sent.all(b"authorization")
        metrics = await proxy.metrics()
        assert metrics.by("requests_total", "upstream") == {"spec": 1.0}
        assert not metrics.by("output_checks_total", "result")


async def test_replays_become_the_baseline() -> None:
    """30 ms a token there, 20 ms here: 1.5 times as fast."""
    async with (
        server() as spec,
        plain_server(event_stream(stream("spec"))) as plain,
        compared(spec.url, plain.url, **OFTEN) as proxy,
    ):
        for number in range(8):
            await chat(proxy.url, request())
            await replayed(proxy, number + 1)
        metrics = await proxy.metrics()
        found = metrics.total("baseline_seconds_per_token", upstream="spec", baseline="shadow")
        assert found == pytest.approx(0.030)
        spent = metrics.total("decode_seconds_total", upstream="spec", baseline="shadow")
        assert spent
        plain_seconds = metrics.total("plain_decode_seconds_total", baseline="shadow")
        assert plain_seconds == pytest.approx(1.5 * spent)


@pytest.mark.parametrize(
    ("text", "result", "same"), [("abcd", "identical", None), ("abXd", "diverged", 2.0)]
)
async def test_greedy_outputs_are_compared(text: str, result: str, same: float | None) -> None:
    """At temperature 0 the texts have to be the same; if not, it counts up to where they are."""
    async with (
        server("abcd") as spec,
        plain_server(event_stream(stream(text))) as plain,
        compared(spec.url, plain.url, **OFTEN) as proxy,
    ):
        await chat(proxy.url, request(temperature=0))
        await replayed(proxy, 1)
        metrics = await proxy.metrics()
        assert metrics.by("output_checks_total", "result") == {result: 1.0}
        differences = metrics.total("output_first_difference_characters_sum", upstream="spec")
        assert differences == (same or 0.0)


async def test_live_traffic_ends_a_replay() -> None:
    """A request that comes meanwhile is served at once, and the plain server may stop."""
    gone = asyncio.Event()

    async def hang(call: Call) -> None:
        await call.body()
        await call.gone()
        gone.set()

    live = asyncio.Event()
    release = asyncio.Event()

    async def first_then_slow(call: Call) -> None:
        await call.body()
        if live.is_set():
            await release.wait()
        await call.send(response(completion("spec", drafted=40)))

    async with (
        ScriptedUpstream(first_then_slow) as spec,
        plain_server(hang) as plain,
        compared(spec.url, plain.url, **OFTEN) as proxy,
    ):
        await chat(proxy.url, request())
        await until(lambda: bool(plain.requests))
        live.set()
        asked = asyncio.create_task(chat(proxy.url, request()))
        await asyncio.wait_for(gone.wait(), 5)
        release.set()
        assert (await asked).status == 200
        await replayed(proxy, 1, "abandoned")


@pytest.mark.parametrize("fault", ["error", "resets", "down"])
async def test_a_replay_that_fails_is_counted_and_no_more(fault: str) -> None:
    """The live client has its answer long since."""

    async def resets(call: Call) -> None:
        call.reset()

    script = {"error": answer(response(b"{}", "500 Oops")), "resets": resets, "down": then_hang()}
    async with (
        server() as spec,
        plain_server(script[fault]) as plain,
        compared(spec.url, plain.url, **OFTEN) as proxy,
    ):
        if fault == "down":
            proxy.service.upstreams.named("plain").up = False
        assert (await chat(proxy.url, request())).status == 200
        if fault == "down":
            await asyncio.sleep(0.2)
            assert not plain.requests
            return
        await replayed(proxy, 1, "failed")
        metrics = await proxy.metrics()
        assert not metrics.by("upstream_failures_total", "reason")


async def test_few_wait_for_a_replay() -> None:
    """While there is no room some are kept, and no more: they are held in memory."""
    async with (
        server() as spec,
        plain_server(then_hang()) as plain,
        compared(spec.url, plain.url, **OFTEN) as proxy,
    ):
        proxy.service.upstreams.named("plain").up = False
        for _ in range(20):
            await chat(proxy.url, request())
        await proxy.metrics()  # by now all have been counted, and so have been offered
        (replayer,) = proxy.service._plain._replayers.values()
        assert len(replayer._waiting) == 4


async def test_nothing_that_was_said_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Neither prompts nor outputs, also where a replay fails or outputs differ."""
    caplog.set_level(logging.DEBUG)
    async with (
        server("an-output") as spec,
        plain_server(event_stream(stream("another-output"))) as plain,
        compared(spec.url, plain.url, **OFTEN) as proxy,
    ):
        asked = request(temperature=0, messages=[{"role": "user", "content": "a-prompt"}])
        await chat(proxy.url, asked)
        await replayed(proxy, 1)
    assert not any(word in caplog.text for word in ("a-prompt", "an-output", "another-output"))


async def test_what_is_learned_outlives_a_restart(tmp_path: object) -> None:
    """The next start compares from the first completion on."""
    state = f"{tmp_path}/learned.json"
    async with (
        server() as spec,
        plain_server(event_stream(stream("spec"))) as plain,
    ):
        async with compared(spec.url, plain.url, state_file=state, **OFTEN) as proxy:
            for number in range(8):
                await chat(proxy.url, request())
                await replayed(proxy, number + 1)
        async with compared(spec.url, plain.url, state_file=state) as proxy:
            await chat(proxy.url, request())
            metrics = await proxy.metrics()
            spent = metrics.total("decode_seconds_total", upstream="spec", baseline="shadow")
            assert spent == pytest.approx(0.8)


async def test_a_damaged_file_is_a_fresh_start(
    tmp_path: object, caplog: pytest.LogCaptureFixture
) -> None:
    """It is put aside with a warning, and traffic goes on."""
    state = f"{tmp_path}/learned.json"
    with open(state, "w") as file:  # noqa: PTH123, ASYNC230 - a short file
        file.write('{"version":1,"entries":[{}]}')
    async with (
        server() as spec,
        plain_server(then_hang()) as plain,
        compared(spec.url, plain.url, state_file=state) as proxy,
    ):
        assert (await chat(proxy.url, request())).status == 200
    assert "Learning starts anew" in caplog.text
