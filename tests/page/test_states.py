"""The page in real Chromium, in front of real llama.cpp, in each state it has to tell apart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest
import pytest_asyncio

from specmeter.api.verdict import between, times
from specmeter.config import Upstream
from specmeter.demo.llama_server import LlamaServer
from specmeter.speedup.interval import Verdict
from tests.page.looking import SCHEMES, WIDTHS, Look, Scheme
from tests.page.states import (
    PLAIN,
    Shown,
    against_a_number,
    ask,
    nothing_there,
    proxy,
    replayed,
    speedup_of,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

Looking = Callable[..., AbstractAsyncContextManager[Look]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ngram_mod(plain_llama: LlamaServer, ngram_mod_llama: LlamaServer) -> AsyncIterator[Shown]:
    """Draft from repeated text."""
    async with replayed(plain_llama.url, ngram_mod_llama.url, "ngram-mod") as shown:
        yield shown


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def draft_simple(
    plain_llama: LlamaServer, draft_simple_llama: LlamaServer
) -> AsyncIterator[Shown]:
    """Draft with the model itself."""
    async with against_a_number(plain_llama.url, draft_simple_llama.url, "draft-simple") as shown:
        yield shown


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def no_baseline(draft_simple_llama: LlamaServer) -> AsyncIterator[Shown]:
    """Draft, and have nothing to compare with."""
    async with proxy(Upstream(url=draft_simple_llama.url, name="draft-simple")) as shown:
        await ask(shown, times=2, tokens=24)
        yield shown


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def plain(plain_llama: LlamaServer) -> AsyncIterator[Shown]:
    """Do not speculate."""
    async with proxy(Upstream(url=plain_llama.url, name=PLAIN)) as shown:
        await ask(shown, times=2, tokens=24)
        yield shown


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def no_traffic(plain_llama: LlamaServer) -> AsyncIterator[Shown]:
    """Have nothing to meter yet."""
    async with proxy(Upstream(url=plain_llama.url, name=PLAIN)) as shown:
        yield shown


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def down() -> AsyncIterator[Shown]:
    """Have a server that does not answer."""
    async with nothing_there() as shown:
        yield shown


STATES = ("ngram_mod", "draft_simple", "no_baseline", "plain", "no_traffic", "down")


@pytest.fixture
def shown(request: pytest.FixtureRequest) -> Shown:
    """Give the proxy in the state that the test names."""
    found: Shown = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shown", STATES, indirect=True)
async def test_the_page_is_sound(shown: Shown, look: Looking, width: int, scheme: Scheme) -> None:
    """No error in the console, nothing wider than the page, no fault that axe-core finds."""
    async with look(shown.admin_url, width, scheme) as page:
        assert await page.accessibility_faults() == []
        assert await page.overflowing() == []
        assert page.console == []
        assert page.failed == []
        assert all(url.startswith(shown.admin_url) for url in page.requests)


async def test_ngram_mod_on_repeated_text(ngram_mod: Shown, look: Looking) -> None:
    """The verdict has its number, interval, baseline and count; each fraction adds up."""
    async with look(ngram_mod.admin_url) as page:
        found = speedup_of(ngram_mod)
        assert found is not None
        assert found.interval is not None
        word = {Verdict.FASTER: "Faster", Verdict.SLOWER: "Slower"}.get(found.verdict)
        expected = "Cannot tell" if word is None else f"{word} {times(found.ratio)}"
        assert expected in await page.headline()
        sentence = await page.text("#verdict .sentence")
        low, high = found.interval.low, found.interval.high
        assert times(found.ratio) in sentence
        compared = sum(one.estimate is not None for one in ngram_mod.completions)
        assert f"({between(low, high)})" in sentence
        assert f"replayed on the plain server (shadow), over {compared} completions" in sentence
        assert "Baseline: shadow" in await page.text("#verdict .facts")
        own = [one.reading for one in ngram_mod.completions]
        accepted = sum(one.accepted or 0 for one in own)
        drafted = sum(one.drafted or 0 for one in own)
        tokens, steps = (sum(x or 0 for x in xs) for xs in zip(
            *((one.generated, one.target_steps) for one in own), strict=True
        ))  # fmt: skip
        acceptance = await page.text("[data-number=acceptance]")
        assert f"= accepted {accepted:,} / drafted {drafted:,}" in acceptance
        assert f"{100 * accepted / drafted:.1f} %" in acceptance
        output = await page.text("[data-number=output_per_step]")
        assert f"= tokens {tokens:,} / steps {steps:,}" in output
        assert f"{tokens / steps:.2f}" in output


async def test_a_model_that_drafts_for_itself_is_slower(draft_simple: Shown, look: Looking) -> None:
    """The page says slower although nearly every guess is right, and why: what a step takes."""
    async with look(draft_simple.admin_url) as page:
        assert "Slower 0." in await page.headline()
        assert await page.page.get_attribute("#verdict", "data-kind") == "slower"
        own = [one.reading for one in draft_simple.completions]
        assert sum(x.accepted or 0 for x in own) > 0.8 * sum(x.drafted or 0 for x in own)
        facts = await page.text("#verdict .facts")
        assert "Time lost" in facts
        assert "pays below" in facts
        assert (await page.page.title()).startswith("Slower 0.")
        assert await page.page.locator("[data-chart=saved] .bar.lost").count() > 0


async def test_a_plain_server_is_off(plain: Shown, look: Looking) -> None:
    """Nothing was drafted and the server says that speculation is off: so does the page."""
    async with look(plain.admin_url) as page:
        assert "Off" in await page.headline()
        assert "speculation is off" in await page.text("#verdict .sentence")
        assert "Speculation\noff" in await page.text("[data-upstream=plain]")
        assert await page.text("[data-chart=acceptance] .empty") == "Nothing was drafted."
        why = "Nothing was drafted: there is nothing to compare."
        assert await page.text("[data-chart=speedup] .empty") == why


async def test_no_baseline_says_how_to_get_one(
    no_baseline: Shown, look: Looking, draft_simple_llama: LlamaServer
) -> None:
    """The exact command is there, with the server's own address."""
    async with look(no_baseline.admin_url) as page:
        assert "No baseline" in await page.headline()
        codes = await page.page.locator("#verdict code").all_inner_texts()
        url = draft_simple_llama.url
        assert codes[0] == f"specmeter baseline --upstream {url} --out baseline.json"
        assert 'baseline_file = "baseline.json"' in codes
        assert "No baseline" in await page.text("[data-chart=speedup] .empty")
        assert "%" in await page.text("[data-number=acceptance] .value")


async def test_no_traffic_says_where_to_point_a_client(no_traffic: Shown, look: Looking) -> None:
    """The page tells the address, and every chart that it has nothing yet."""
    async with look(no_traffic.admin_url) as page:
        assert "No traffic yet" in await page.headline()
        assert f"{no_traffic.service.data_url}/v1" in await page.text("#verdict code")
        empty = await page.page.locator("#charts .empty").all_inner_texts()
        assert empty == ["No completion in the last hour."] * 5
        assert "No completion has passed" in await page.text("#recent")


async def test_a_server_that_does_not_answer(down: Shown, look: Looking) -> None:
    """The page says so, and names it."""
    async with look(down.admin_url) as page:
        assert "No answer" in await page.headline()
        assert "gone" in await page.text("#notices")
        assert "down" in await page.text("[data-upstream=gone] h3")
