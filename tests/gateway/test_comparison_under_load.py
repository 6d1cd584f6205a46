"""200 live streams beside a plain upstream in trouble: none of them notices."""

import asyncio
from typing import Any

import pytest

from tests.answers import DONE, event
from tests.gateway.client import chat
from tests.gateway.plain import compared, held_out, request
from tests.gateway.proxy import until
from tests.scripted import (
    CHUNKED,
    EVENTS,
    Call,
    Script,
    ScriptedUpstream,
    answer,
    chunk,
    head,
    response,
    then_hang,
)

STREAMS = 200
TIMINGS = {"prompt_n": 9, "predicted_n": 40, "predicted_ms": 500.0, "draft_n": 8}
PIECES = [
    *[event({"choices": [{"index": 0, "delta": {"content": "x" * 20}}]})] * 5,
    event({"choices": [], "timings": TIMINGS | {"draft_n_accepted": 4}}),
    DONE,
]
WHOLE = b"".join(PIECES)


async def streams(call: Call) -> None:
    """Answer with a stream that takes a little."""
    await call.body()
    await call.send(head("200 OK", EVENTS, CHUNKED))
    for piece in PIECES:
        await asyncio.sleep(0.02)
        await call.send(chunk(piece))
    await call.send(chunk(b""))


async def slow(call: Call) -> None:
    """Answer right, but only after all streams have ended."""
    await call.body()
    await asyncio.sleep(3)
    await streams(call)


async def resets(call: Call) -> None:
    await call.body()
    call.reset()


TROUBLES: dict[str, Script] = {
    "slow": slow,
    "failing": answer(response(b'{"error":{}}', "500 Internal Server Error")),
    "hanging": then_hang(),
    "hanging after its head": then_hang(head("200 OK", EVENTS, CHUNKED)),
    "resetting": resets,
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize(
    "how",
    [
        {"holdout": 0.2, "holdout_patience_seconds": 2.0},
        {"shadow": 1.0, "shadow_per_minute": 6000.0, "shadow_in_flight": 10000},
    ],
    ids=["holdout", "shadow"],
)
async def test_live_streams_have_no_error(trouble: str, how: dict[str, Any]) -> None:
    """Each gets every byte of the speculating upstream's stream, whatever the plain one does."""
    async with (
        ScriptedUpstream(streams) as spec,
        ScriptedUpstream(scripts={"/v1/chat/completions": TROUBLES[trouble]}) as plain,
        compared(spec.url, plain.url, **how) as proxy,
    ):
        asked = request(stream=True)
        first = await asyncio.gather(*(chat(proxy.url, asked) for _ in range(STREAMS)))
        second = await asyncio.gather(*(chat(proxy.url, asked) for _ in range(10)))
        for got in (*first, *second):
            assert got.status == 200
            assert got.complete
            assert got.body == WHOLE
        metrics = await proxy.metrics()
        assert metrics.by("requests_total", "code") == {"200": STREAMS + 10.0}
        assert not metrics.by("upstream_failures_total", "reason")
        assert len(spec.requests) == STREAMS + 10
        await until(lambda: bool(plain.requests))
        assert held_out(plain) == []
