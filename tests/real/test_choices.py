"""Several choices in one answer."""

import json

import pytest

from specmeter.demo.llama_server import LlamaServer
from tests.real.page import proxy_counts
from tests.real.proxy import running_proxy
from tests.real.requests import COLOURS

CHAT = {
    "messages": [{"role": "user", "content": "Name the colours.\n" + COLOURS}],
    "n": 2,
    "max_tokens": 16,
    "seed": 1,
}


@pytest.mark.parametrize("usage", [True, False])
async def test_streamed_choices_all_count(llama: LlamaServer, *, usage: bool) -> None:
    """Each choice of a stream brings its own numbers, of a prompt that counts once."""
    async with running_proxy(llama.url) as proxy:
        before = await proxy.server_counts()
        options = {"stream_options": {"include_usage": True}} if usage else {}
        await proxy.post("/v1/chat/completions", **CHAT, **options, stream=True)
        gained = (await proxy.server_counts()).since(before)
        page = await proxy.page()
    assert len(proxy.completions) == 2
    assert proxy_counts(page) == gained
    assert gained.generated > 0
    assert page.total("specmeter_unread_completions_total") == 0


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
