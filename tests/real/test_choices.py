"""Several choices in one answer."""

import json

import pytest

from specmeter.demo.llama_server import LlamaServer
from tests.real.page import proxy_counts
from tests.real.proxy import Proxy, running_proxy
from tests.real.requests import COLOURS

CHAT = {
    "messages": [{"role": "user", "content": "Name the colours.\n" + COLOURS}],
    "n": 2,
    "max_tokens": 16,
    "seed": 1,
}


@pytest.mark.parametrize("usage", [True, False])
async def test_streamed_choices_all_count(llama: LlamaServer, *, usage: bool) -> None:
    """Each choice of a stream brings its own numbers, and their sums are the server's."""
    async with running_proxy(llama.url) as proxy:
        before = await proxy.server_counts()
        options = {"stream_options": {"include_usage": True}} if usage else {}
        await proxy.post("/v1/chat/completions", **CHAT, **options, stream=True)
        gained = (await proxy.server_counts()).since(before)
        page = await proxy.page()
    counts = proxy_counts(page)
    assert len(proxy.completions) == 2
    assert (counts.generated, counts.drafted, counts.accepted) == (
        gained.generated,
        gained.drafted,
        gained.accepted,
    )
    assert gained.generated > 0
    assert page.total("specmeter_unread_completions_total") == 0


async def test_prompt_of_several_choices_counts_once(plain_proxy: Proxy) -> None:
    """The choices of a chat have one prompt, though each of them tells its numbers."""
    before = await plain_proxy.server_counts()
    await plain_proxy.post("/v1/chat/completions", **CHAT, stream=True)
    gained = (await plain_proxy.server_counts()).since(before)
    counts = proxy_counts(await plain_proxy.page())
    assert gained.prompt > 0
    assert (counts.prompt, counts.cached_prompt) == (gained.prompt, gained.cached_prompt)


async def test_unstreamed_choices_but_one_are_missed_openly(llama: LlamaServer) -> None:
    """A body tells the first choice's numbers only; that the others are missing is counted."""
    async with running_proxy(llama.url) as proxy:
        before = await proxy.server_counts()
        answer = json.loads(await proxy.post("/v1/chat/completions", **CHAT))
        gained = (await proxy.server_counts()).since(before)
        page = await proxy.page()
    assert len(answer["choices"]) == 2
    counts, timings = proxy_counts(page), answer["timings"]
    assert len(proxy.completions) == 1
    assert counts.generated == timings["predicted_n"] < gained.generated
    assert counts.drafted == timings.get("draft_n", 0) <= gained.drafted
    assert page.total("specmeter_unread_completions_total", reason="other_choices") == 1
    assert page.total("specmeter_unread_completions_total") == 1
