"""A server is started anew under load, its own counters with it: nothing counts down or twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from tests.gateway.client import CHAT_BODY, Answer, ask, chat
from tests.gateway.proxy import Metrics, Proxy, running
from tests.ports import free_port
from tests.scripted import SECONDS, Call, ScriptedUpstream, response
from tests.upstream_pages.served import OFTEN, TEXT

TOKENS = 7
"""Of each answer."""

RESTARTS = 4
CLIENTS = 6
SHOWN = "upstream_generated_tokens_total"
METERED = "generated_tokens_total"
ANSWER = b'{"usage":{"prompt_tokens":1,"completion_tokens":%d}}' % TOKENS


class Server:
    """A llama.cpp server that counts what it generates, from 0 each time it is started."""

    def __init__(self, *, tells_start: bool) -> None:
        self.tokens = 0
        """Of the process that runs."""
        self.ever = 0
        """Of all of them."""
        self.pages: list[int] = []
        """What the last page of each process said."""
        self._tells_start = tells_start
        self._port = free_port()
        self._looked_at = asyncio.Event()

    @asynccontextmanager
    async def process(self) -> AsyncIterator[ScriptedUpstream]:
        """Run it once."""
        self.tokens = 0
        self.pages.append(0)
        self._looked_at.clear()
        async with ScriptedUpstream(self._answer, {"/metrics": self._page}, port=self._port) as one:
            yield one

    async def _answer(self, call: Call) -> None:
        await call.body()
        await self._looked_at.wait()  # else a look might miss that it began at 0
        await asyncio.sleep(0.002)
        self.tokens += TOKENS
        self.ever += TOKENS
        await call.send(response(ANSWER))

    async def _page(self, call: Call) -> None:
        number, tokens = len(self.pages), self.tokens
        page = f"llamacpp:tokens_predicted_total {tokens}\n"
        start = ((b"Process-Start-Time-Unix", b"%d" % number),) if self._tells_start else ()
        self.pages[-1] = tokens  # now, as the process may end while this is on its way
        await call.send(response(page.encode(), "200 OK", TEXT, *start))
        self._looked_at.set()


class Load:
    """Clients that ask without a pause; what they got."""

    def __init__(self, proxy: Proxy) -> None:
        self.answers: list[Answer] = []
        self._proxy = proxy
        self._ends = False

    async def _ask(self) -> None:
        while not self._ends:
            self.answers.append(await chat(self._proxy.url, CHAT_BODY))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Ask meanwhile."""
        asking = [asyncio.create_task(self._ask()) for _ in range(CLIENTS)]
        try:
            yield
        finally:
            self._ends = True
            await asyncio.gather(*asking)

    def good(self) -> int:
        return sum(one.status == 200 and one.complete for one in self.answers)


def grows(before: Metrics, now: Metrics | None = None) -> None:
    """See that no counter went down."""
    if now is not None:
        for name in (SHOWN, METERED, "requests_total", "upstream_failures_total"):
            assert (now.total(name) or 0) >= (before.total(name) or 0), name


async def look(proxy: Proxy) -> Metrics:
    """Read specmeter's page without waiting for anything."""
    got = await ask(proxy.service.admin_url, "GET", "/metrics")
    assert got.status == 200
    return Metrics(got.body)


async def until_looks(
    proxy: Proxy, looks: list[Metrics], condition: Callable[[Metrics], object]
) -> None:
    """Look again and again until something is so; no counter may fall meanwhile."""
    async with asyncio.timeout(SECONDS):
        while True:
            looks.append(await look(proxy))
            grows(*looks[-2:])
            if condition(looks[-1]):
                return
            await asyncio.sleep(0.005)


def failures(metrics: Metrics) -> float:
    return metrics.total("upstream_scrape_failures_total", reason="cannot_connect") or 0


@pytest.mark.parametrize("tells_start", [False, True], ids=["by numbers", "by its header"])
async def test_restarts_under_load(tells_start: bool) -> None:
    """Clients meanwhile get a 502, counts add up over all processes, and none falls at any look."""
    server = Server(tells_start=tells_start)
    looks: list[Metrics] = []
    options: dict[str, Any] = {"backend": "llama_cpp", "scrape": True, "scrape_seconds": OFTEN}
    async with AsyncExitStack() as stack:
        process = await stack.enter_async_context(AsyncExitStack())
        url = (await process.enter_async_context(server.process())).url
        proxy = await stack.enter_async_context(running(url, **options))
        load = Load(proxy)
        async with load.running():
            for _ in range(RESTARTS):
                enough = load.good() + 3 * CLIENTS
                await until_looks(proxy, looks, lambda _, n=enough: load.good() > n)  # type: ignore[misc]
                await process.aclose()
                down = failures(looks[-1])
                await until_looks(proxy, looks, lambda m, n=down: failures(m) > n)  # type: ignore[misc]
                await process.enter_async_context(server.process())
            enough = load.good() + 3 * CLIENTS
            await until_looks(proxy, looks, lambda _: load.good() > enough)
        await until_looks(proxy, looks, lambda m: m.total(SHOWN) == sum(server.pages))
        await proxy.metrics()  # now all is counted
        end = await look(proxy)
    assert sum(server.pages) <= server.ever
    assert server.pages[-1] == server.tokens
    assert end.total(METERED) == load.good() * TOKENS
    assert end.total("requests_total", code="200") == load.good()
    failed = [one for one in load.answers if one.status != 200]
    assert {one.status for one in failed} == {502}
    assert end.total("requests_total", code="502") == len(failed)
    assert end.total("upstream_failures_total") == len(failed)
    reasons = end.by("upstream_failures_total", "reason")
    assert set(reasons) <= {"cannot_connect", "closed_early"}
