"""A share of live requests is answered by the plain upstream, and costs no answer."""

import asyncio

import orjson
import pytest

from tests.gateway.client import chat
from tests.gateway.plain import compared, completion, held_out, plain_server, request
from tests.gateway.proxy import Proxy
from tests.scripted import Call, Script, ScriptedUpstream, answer, response, then_hang

HEADER = b"x-specmeter-holdout"
SPEC = response(completion("spec", drafted=40))
ASKED = request(stream=True)
PLAIN = response(completion("plain"))


async def prove(proxy: Proxy) -> None:
    """Ask until the plain upstream has shown that it answers."""
    holdout = proxy.service._plain.comparisons.holdouts["spec"]
    async with asyncio.timeout(10):
        while not holdout.is_proven:
            await chat(proxy.url, ASKED)
            await asyncio.sleep(0.01)


async def test_the_plain_upstream_answers_in_its_own_bytes() -> None:
    """A held-out client gets what the plain server sent, and a header that says so."""
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(answer(PLAIN)) as plain,
        compared(spec.url, plain.url, holdout=0.5, holdout_header="x-chat") as proxy,
    ):
        await prove(proxy)
        bodies = set()
        for number in range(12):
            got = await chat(proxy.url, ASKED, (b"x-chat", b"%d" % number))
            by_plain = (HEADER, b"plain") in got.fields
            assert got.body == completion("plain" if by_plain else "spec", **_drafts(by_plain))
            bodies.add(got.body)
        assert len(bodies) == 2
        assert {one.body for one in held_out(plain)} == {ASKED}
        metrics = await proxy.metrics()
        answered = metrics.total("holdout_requests_total", upstream="spec", result="answered")
        assert answered == len(held_out(plain))
        assert metrics.total("completions_total", upstream="plain") == answered


def _drafts(by_plain: bool) -> dict[str, int]:
    return {} if by_plain else {"drafted": 40}


async def test_held_out_completions_become_the_baseline() -> None:
    """20 ms a token on the plain server against 20 ms on this one with drafts of 40 tokens."""
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(answer(response(completion("p", milliseconds=1200.0)))) as plain,
        compared(spec.url, plain.url, holdout=0.5) as proxy,
    ):
        await prove(proxy)
        for _ in range(60):
            await chat(proxy.url, ASKED)
        metrics = await proxy.metrics()
        found = metrics.total("baseline_seconds_per_token", upstream="spec", baseline="holdout")
        assert found == pytest.approx(0.030)
        spent = metrics.total("decode_seconds_total", upstream="spec", baseline="holdout")
        saved = metrics.total("plain_decode_seconds_total", upstream="spec", baseline="holdout")
        assert spent
        assert saved == pytest.approx(1.5 * spent)


async def test_a_plain_upstream_gets_no_other_requests() -> None:
    """Whatever model a client asks for, the one that speculates is asked."""
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(answer(PLAIN)) as plain,
        compared(spec.url, plain.url) as proxy,
    ):
        got = await chat(proxy.url, request(model="gpt-4o", stream=True))
        assert got.status == 200
        assert (len(spec.requests), len(plain.requests)) == (1, 0)


async def test_only_streams_are_held_out() -> None:
    """Nothing tells a long answer in one piece from a server that hangs."""
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(answer(PLAIN)) as plain,
        compared(spec.url, plain.url, holdout=0.5) as proxy,
    ):
        await prove(proxy)
        before = len(held_out(plain))
        for body in (request(), request(stream=False), b"[]", b'{"stream":true'):
            for _ in range(8):
                await chat(proxy.url, body)
        assert len(held_out(plain)) == before


async def test_the_model_has_another_name_there() -> None:
    """With `plain_model` that name is asked for, and everything else stays."""
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(answer(PLAIN)) as plain,
        compared(spec.url, plain.url, holdout=0.5, plain_model="m-plain") as proxy,
    ):
        await prove(proxy)
        while not held_out(plain):
            await chat(proxy.url, ASKED)
        sent = orjson.loads(held_out(plain)[0].body)
        assert sent == orjson.loads(ASKED) | {"model": "m-plain"}


async def resets(call: Call) -> None:
    await call.body()
    call.reset()


FAULTS: dict[str, Script] = {
    "error": answer(response(b"{}", "503 Service Unavailable")),
    "hangs": then_hang(),
    "hangs after its head": then_hang(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"),
    "resets": resets,
    "garbage": answer(b"no HTTP at all\r\n\r\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_server_that_was_never_well_gets_no_live_request(fault: str) -> None:
    """A copy is tried first, and when that fails none for a while; no client is kept waiting."""
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(FAULTS[fault]) as plain,
        compared(spec.url, plain.url, holdout=0.5, holdout_patience_seconds=0.2) as proxy,
    ):
        for _ in range(40):
            got = await chat(proxy.url, ASKED)
            assert got.body == completion("spec", drafted=40)
            await asyncio.sleep(0.01)
        assert held_out(plain) == []
        (proof,) = plain.requests
        tried = {"stream": True, "max_tokens": 1}
        assert orjson.loads(proof.body) == orjson.loads(ASKED) | tried
        metrics = await proxy.metrics()
        assert not metrics.by("holdout_requests_total", "result")


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_later_costs_no_answer(fault: str) -> None:
    """The speculating upstream answers after all, once, and for a while none is held out."""

    async def only_first_well(call: Call) -> None:
        await (answer(PLAIN) if call.request.is_specmeters else FAULTS[fault])(call)

    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(only_first_well) as plain,
        compared(spec.url, plain.url, holdout=0.5, holdout_patience_seconds=0.2) as proxy,
    ):
        await prove(proxy)
        while not held_out(plain):
            await chat(proxy.url, ASKED)
        for _ in range(20):
            got = await chat(proxy.url, ASKED)
            assert got.body == completion("spec", drafted=40)
            assert not [value for name, value in got.fields if name == HEADER]
        assert len(held_out(plain)) == 1
        assert {one.body for one in spec.requests} == {ASKED}
        metrics = await proxy.metrics()
        assert metrics.by("holdout_requests_total", "result") == {"fell_back": 1.0}
        assert metrics.by("requests_total", "upstream") == {"spec": float(len(spec.requests))}
        assert not metrics.by("upstream_failures_total", "reason")


async def test_a_break_in_the_middle_is_the_clients_too() -> None:
    """What was sent cannot be taken back; it counts, and for a while none is held out."""

    async def breaks(call: Call) -> None:
        if call.request.is_specmeters:
            await answer(PLAIN)(call)
        else:
            await call.body()
            await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf of")
            call.close()

    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(breaks) as plain,
        compared(spec.url, plain.url, holdout=0.5) as proxy,
    ):
        await prove(proxy)
        answers = [await chat(proxy.url, ASKED) for _ in range(20)]
        broken = [got for got in answers if not got.complete]
        assert len(broken) == len(held_out(plain)) == 1
        assert broken[0].body == b"half of"
        metrics = await proxy.metrics()
        assert metrics.by("holdout_requests_total", "result") == {"broken_off": 1.0}


async def test_a_client_that_leaves_ends_the_held_out_request() -> None:
    """The plain server sees the end at once, and nobody else is asked."""
    gone = asyncio.Event()

    async def hangs(call: Call) -> None:
        if call.request.is_specmeters:
            await answer(PLAIN)(call)
        else:
            await call.body()
            await call.gone()
            gone.set()

    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        plain_server(hangs) as plain,
        compared(spec.url, plain.url, holdout=0.5) as proxy,
    ):
        await prove(proxy)
        while True:
            before = len(spec.requests)
            asked = asyncio.create_task(chat(proxy.url, ASKED))
            while not (asked.done() or held_out(plain)):  # noqa: ASYNC110 - as `until`
                await asyncio.sleep(0.002)
            if held_out(plain):
                break
        asked.cancel()
        await asyncio.wait_for(gone.wait(), 5)
        metrics = await proxy.metrics()
        assert len(spec.requests) == before
        assert not metrics.by("holdout_requests_total", "result")
        assert metrics.by("client_left_total", "upstream") == {"plain": 1.0}
