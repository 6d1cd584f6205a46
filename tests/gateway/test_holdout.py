"""A share of live requests is answered by the plain upstream, and costs no answer."""

import asyncio

import orjson
import pytest

from tests.gateway.client import chat
from tests.gateway.plain import compared, completion, request
from tests.gateway.proxy import until
from tests.scripted import ScriptedUpstream, answer, response, then_hang

HEADER = b"x-specmeter-holdout"
SPEC = response(completion("spec", drafted=40))
PLAIN = response(completion("plain"))


async def test_the_plain_upstream_answers_in_its_own_bytes() -> None:
    """A held-out client gets what the plain server sent, and a header that says so."""
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        ScriptedUpstream(answer(PLAIN)) as plain,
        compared(spec.url, plain.url, holdout=0.5, holdout_header="x-chat") as proxy,
    ):
        bodies = set()
        for number in range(12):
            got = await chat(proxy.url, request(), (b"x-chat", b"%d" % number))
            held_out = (HEADER, b"plain") in got.fields
            assert got.body == completion("plain" if held_out else "spec", **_drafts(held_out))
            bodies.add(got.body)
        assert len(bodies) == 2
        assert {one.body for one in plain.requests} == {request()}
        metrics = await proxy.metrics()
        answered = metrics.total("holdout_requests_total", upstream="spec", result="answered")
        assert answered == len(plain.requests)
        assert metrics.total("completions_total", upstream="plain") == answered


def _drafts(held_out: bool) -> dict[str, int]:
    return {} if held_out else {"drafted": 40}


async def test_held_out_completions_become_the_baseline() -> None:
    """20 ms a token on the plain server against 20 ms on this one with drafts of 40 tokens."""
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        ScriptedUpstream(answer(response(completion("p", milliseconds=1200.0)))) as plain,
        compared(spec.url, plain.url, holdout=0.5) as proxy,
    ):
        for _ in range(60):
            await chat(proxy.url, request())
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
        ScriptedUpstream(answer(PLAIN)) as plain,
        compared(spec.url, plain.url) as proxy,
    ):
        got = await chat(proxy.url, request(model="gpt-4o"))
        assert got.status == 200
        assert (len(spec.requests), len(plain.requests)) == (1, 0)


async def test_the_model_has_another_name_there() -> None:
    """With `plain_model` that name is asked for, and everything else stays."""
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        ScriptedUpstream(answer(PLAIN)) as plain,
        compared(spec.url, plain.url, holdout=0.5, plain_model="m-plain") as proxy,
    ):
        for _ in range(20):
            await chat(proxy.url, request())
        assert plain.requests
        sent = orjson.loads(plain.requests[0].body)
        assert sent == orjson.loads(request()) | {"model": "m-plain"}


@pytest.mark.parametrize("fault", ["error", "hangs", "resets", "garbage"])
async def test_a_fault_there_costs_no_answer(fault: str) -> None:
    """The speculating upstream answers after all, once, and for a while none is held out."""

    async def resets(call: object) -> None:
        call.reset()  # type: ignore[attr-defined]

    scripts = {
        "error": answer(response(b"{}", "503 Service Unavailable")),
        "hangs": then_hang(),
        "resets": resets,
        "garbage": answer(b"no HTTP at all\r\n\r\n"),
    }
    async with (
        ScriptedUpstream(answer(SPEC)) as spec,
        ScriptedUpstream(scripts[fault]) as plain,
        compared(spec.url, plain.url, holdout=0.5, holdout_patience_seconds=0.2) as proxy,
    ):
        for _ in range(20):
            got = await chat(proxy.url, request())
            assert got.body == completion("spec", drafted=40)
            assert not [value for name, value in got.fields if name == HEADER]
        assert len(plain.requests) == 1
        assert len(spec.requests) == 20
        assert {one.body for one in spec.requests} == {request()}
        metrics = await proxy.metrics()
        assert metrics.by("holdout_requests_total", "result") == {"fell_back": 1.0}
        assert metrics.by("requests_total", "upstream") == {"spec": 20.0}
        assert not metrics.by("upstream_failures_total", "reason")


async def test_a_client_that_leaves_ends_the_held_out_request() -> None:
    """The plain server sees the end at once, and nobody else is asked."""
    gone = asyncio.Event()

    async def hang(call: object) -> None:
        await call.body()  # type: ignore[attr-defined]
        await call.gone()  # type: ignore[attr-defined]
        gone.set()

    async with (
        ScriptedUpstream(hang) as spec,
        ScriptedUpstream(hang) as plain,
        compared(spec.url, plain.url, holdout=0.5) as proxy,
    ):
        while not plain.requests:
            asked = asyncio.create_task(chat(proxy.url, request()))
            await until(lambda: bool(spec.requests or plain.requests))
            before = len(spec.requests)
            asked.cancel()
            await asyncio.wait((asked,))
            await asyncio.wait_for(gone.wait(), 5)
            gone.clear()
            if not plain.requests:
                spec.requests.clear()
        assert len(spec.requests) == before
        metrics = await proxy.metrics()
        assert not metrics.by("holdout_requests_total", "result")
