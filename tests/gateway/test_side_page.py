"""KoboldCpp's page of its last generation completes an answer, if it surely speaks of it."""

from __future__ import annotations

import json

import pytest

from specmeter.reading import Clock, Speculation
from tests.gateway.client import chat
from tests.gateway.proxy import running
from tests.scripted import Call, ScriptedUpstream, answer, response

ANSWER = response(json.dumps({"choices": [{}], "usage": {"completion_tokens": 40}}).encode())


class Kobold:
    """A server whose page moves on with each of its generations."""

    def __init__(self, steps: list[int], **page: object) -> None:
        self._steps = steps
        self._total = 7
        self._page = page

    async def perf(self, call: Call) -> None:
        self._total += self._steps.pop(0) if self._steps else 0
        page = {
            "last_token_count": 40,
            "last_input_count": 9,
            "last_eval_time": 2.0,
            "last_draft_success": 25,
            "last_draft_failed": 15,
            "total_gens": self._total,
        }
        await call.send(response(json.dumps(page | self._page).encode()))


def serve(upstream: ScriptedUpstream, kobold: Kobold) -> None:
    upstream.models = json.dumps({"data": [{"id": "k", "owned_by": "koboldcpp"}]}).encode()
    upstream.script = answer(ANSWER)
    upstream.scripts["/api/extra/perf"] = kobold.perf


async def test_the_last_generation_completes_its_answer(upstream: ScriptedUpstream) -> None:
    """After a first look, each answer gets the drafts of the one generation that ended since."""
    serve(upstream, Kobold([1, 1]))
    async with running(upstream.url) as proxy:
        for _ in range(2):
            await chat(proxy.url)
            metrics = await proxy.metrics()  # waits until the page was asked
        first, second = (one.reading for one in proxy.seen)
    assert first.speculation is Speculation.NOT_REPORTED
    assert (second.drafted, second.accepted, second.target_steps) == (40, 25, 15)
    assert (second.decode_seconds, second.clock) == (2.0, Clock.SERVER)
    states = metrics.by("completions_total", "speculation")
    assert states == {"not_reported": 1, "drafted": 1}


@pytest.mark.parametrize(
    ("steps", "page"),
    [
        ([1, 2], {}),
        ([1, 0], {}),
        ([1, 1], {"last_token_count": 39}),
        ([1, 1], {"last_draft_success": None, "last_draft_failed": None}),
        ([1, 1], {"total_gens": "8"}),
    ],
    ids=["others ended", "none ended", "other tokens", "no drafts", "no count"],
)
async def test_a_page_that_may_speak_of_another_is_left_alone(
    upstream: ScriptedUpstream, steps: list[int], page: dict[str, object]
) -> None:
    """Then the answer stands alone, with its tokens."""
    serve(upstream, Kobold(steps, **page))
    async with running(upstream.url) as proxy:
        for _ in range(2):
            await chat(proxy.url)
            metrics = await proxy.metrics()  # waits until the page was asked
    assert metrics.by("completions_total", "speculation") == {"not_reported": 2}
    assert metrics.by("generated_tokens_total", "model_name") == {"k": 80}


async def test_a_page_that_cannot_be_had_loses_nothing(upstream: ScriptedUpstream) -> None:
    """The answer is counted without it."""
    upstream.models = json.dumps({"data": [{"id": "k", "owned_by": "koboldcpp"}]}).encode()
    upstream.script = answer(ANSWER)
    upstream.scripts["/api/extra/perf"] = answer(b"garbage")
    async with running(upstream.url) as proxy:
        await chat(proxy.url)
        metrics = await proxy.metrics()
    assert metrics.by("generated_tokens_total", "model_name") == {"k": 40}
