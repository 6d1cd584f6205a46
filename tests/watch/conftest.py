"""One run of everything, which the tests here look at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from specmeter.demo.llama_server import LlamaServer
from specmeter.meter.completion import Completion
from tests.real.page import Page
from tests.watch.prometheus import Prometheus
from tests.watch.servers import Webhook
from tests.watch.stack import GONE, MAIN, NGRAM, Llamas, Stack, running_stack
from tests.watch.traffic import repeated_code, repetitive, surprising, varied

SLOWER = "SpeculationSlowerThanPlain"

_MOST_TURNS = 100
"""Each goes on until it has shown what it is for, so that a busy machine takes longer only."""


@dataclass(frozen=True)
class Run:
    """What happened."""

    prometheus: Prometheus
    webhook: Webhook
    slow: list[Completion]
    """Of `MAIN`, while its model drafted for itself."""
    replays: tuple[float, float]
    """Seconds and tokens that the plain server says it has decoded meanwhile."""
    paid: bool
    fired: bool
    resolved: bool
    began: float
    ended: float
    pages: dict[str, str]
    """The proxies' metrics at the end."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def run(
    tmp_path_factory: pytest.TempPathFactory,
    draft_simple_llama: LlamaServer,
    ngram_mod_llama: LlamaServer,
    plain_llama: LlamaServer,
) -> AsyncIterator[Run]:
    """Slow speculation until the alert comes, then a better drafter until it is gone."""
    folder = tmp_path_factory.mktemp("watch")
    llamas = Llamas(draft_simple_llama, ngram_mod_llama, plain_llama)
    began = time.time()
    async with running_stack(folder, llamas) as stack:
        await _odd_requests(stack)
        paid = await _fast(stack)
        before = await _plain_decoding(stack, plain_llama.url)
        fired = await _slow(stack)
        after = await _plain_decoding(stack, plain_llama.url)
        slow = [one for one in stack.completions if one.upstream == MAIN]
        stack.main.exchange(ngram_mod_llama.url)
        resolved = await _better(stack)
        await asyncio.sleep(3)  # for the last scrape and the slowest rules
        pages = {name: await stack.page(name) for name in stack.proxies}
        yield Run(
            prometheus=stack.prometheus,
            webhook=stack.webhook,
            slow=slow,
            replays=(after[0] - before[0], after[1] - before[1]),
            paid=paid,
            fired=fired,
            resolved=resolved,
            began=began,
            ended=time.time(),
            pages=pages,
        )


async def _plain_decoding(stack: Stack, url: str) -> tuple[float, float]:
    async with stack.client.get(f"{url}/metrics") as response:
        page = Page(await response.text())
    seconds = page.total("llamacpp:tokens_predicted_seconds_total")
    return seconds, page.total("llamacpp:tokens_predicted_total")


async def _odd_requests(stack: Stack) -> None:
    """A server that is gone, a path that is none, and outputs that are compared."""
    await stack.ask(MAIN, prompt="Hello", max_tokens=4, model=GONE, status=502)
    await stack.ask(MAIN, "/no/such/path", status=404)
    for turn in range(2):
        await stack.ask(MAIN, **varied(turn, 16))  # greedy, so that both texts are compared
        await stack.replayed()


async def _fast(stack: Stack) -> bool:
    """Let the n-gram drafter repeat itself until its whole interval is above 1.

    And until it is known what a step costs, which takes twenty completions with drafts.
    """
    for turn in range(_MOST_TURNS):
        if turn % 8 == 3:
            await stack.ask(NGRAM, "/v1/messages", **repeated_code(turn))
        else:
            # Steps without a draft tell the fixed part of what a step costs.
            asked = varied(turn, 16) if turn % 4 == 1 else repetitive(turn, 32 + 2 * (turn % 20))
            await stack.ask(NGRAM, **asked, stream=True)
        if (await stack.last(_low(NGRAM)) or 0) > 1 and await stack.last(_BREAK_EVEN) is not None:
            return True
    return False


async def _slow(stack: Stack) -> bool:
    """Waste drafts until the alert comes; each request is replayed before the next one."""
    for turn in range(_MOST_TURNS):
        await stack.ask(MAIN, **surprising(turn, 20), stream=turn % 2 == 0)
        await stack.replayed()
        if _told(stack, "firing"):
            return True
    return False


async def _better(stack: Stack) -> bool:
    """Let the n-gram drafter repeat itself until the alert is gone."""
    for turn in range(_MOST_TURNS):
        await stack.ask(MAIN, **repetitive(turn, 128), stream=turn % 2 == 0)
        if _told(stack, "resolved"):
            return True
    return False


_BREAK_EVEN = f'specmeter_break_even_output_per_step{{upstream="{NGRAM}",bound="estimate"}}'


def _low(upstream: str) -> str:
    return f'model:specmeter_speedup_low:ratio_rate1h{{upstream="{upstream}"}}'


def _told(stack: Stack, status: str) -> bool:
    return bool(stack.webhook.seen(SLOWER, status, upstream=MAIN))
