"""The proxy before real llama.cpp servers, and Prometheus and Alertmanager behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from specmeter.config import Settings, Upstream
from specmeter.demo.llama_server import LlamaServer
from specmeter.meter.completion import Completion
from specmeter.service import Service
from tests.ports import closed_port
from tests.real.page import Page
from tests.real.proxy import until
from tests.watch.exchanged import Exchanged, exchanged
from tests.watch.prometheus import Prometheus
from tests.watch.servers import (
    Webhook,
    running_alertmanager,
    running_prometheus,
    running_webhook,
)

MAIN, NGRAM, PLAIN, GONE = "main", "ngram", "plain", "gone"
"""Upstreams: one whose server is exchanged, one that drafts from its text, none, no server."""


@dataclass(frozen=True)
class Llamas:
    """The servers."""

    draft_simple: LlamaServer
    """Its model drafts for itself: nearly everything is accepted, and it is slower."""
    ngram_mod: LlamaServer
    plain: LlamaServer


@dataclass(frozen=True)
class Stack:
    """All of it, running: two proxies, each before one that speculates and the plain one."""

    proxies: dict[str, Service]
    """By the upstream that speculates."""
    prometheus: Prometheus
    webhook: Webhook
    main: Exchanged
    completions: list[Completion]
    """That clients got, replays left out."""
    client: aiohttp.ClientSession

    async def ask(
        self, upstream: str, path: str = "/v1/completions", status: int = 200, **body: object
    ) -> None:
        """Send one request through the proxy of an upstream, and wait for its answer."""
        url = self.proxies[upstream].data_url + path
        async with self.client.post(url, json=body) as response:
            said = await response.read()
            assert response.status == status, said

    async def page(self, upstream: str) -> str:
        """Return the metrics of the proxy of an upstream."""
        async with self.client.get(f"{self.proxies[upstream].admin_url}/metrics") as response:
            return await response.text()

    async def last(self, expression: str) -> float | None:
        """Return the one value that Prometheus gives for an expression now, if it gives one."""
        found = await asyncio.to_thread(self.prometheus.query, expression)
        return found[0].last if found else None

    async def replayed(self) -> None:
        """Wait until what was asked of `MAIN` has been replayed, so that neither slows the other.

        Raises:
            TimeoutError: It takes too long.
        """

        async def caught_up() -> bool:
            page = Page(await self.page(MAIN))
            live = sum(one.upstream == MAIN for one in self.completions)
            return page.total("specmeter_shadow_replays_total") == live

        await until(caught_up, 20)


def _upstreams(llamas: Llamas, main_url: str, gone_url: str) -> dict[str, tuple[Upstream, ...]]:
    plain = Upstream(name=PLAIN, url=llamas.plain.url)
    gone = Upstream(name=GONE, url=gone_url, models=(GONE,))
    main = Upstream(
        name=MAIN,
        url=main_url,
        plain=PLAIN,
        shadow=1.0,
        shadow_per_minute=600.0,
        scrape=True,
        memory_bandwidth_gb_s=10.0,
        weights_gb=0.1,
    )
    ngram = Upstream(
        name=NGRAM,
        url=llamas.ngram_mod.url,
        method="ngram-mod",
        plain=PLAIN,
        holdout=0.5,
        holdout_patience_seconds=60.0,
        log=str(llamas.ngram_mod.log_file),
        scrape=True,
    )
    return {MAIN: (main, plain, gone), NGRAM: (ngram, plain)}


@asynccontextmanager
async def _running_proxy(
    upstreams: tuple[Upstream, ...], completions: list[Completion]
) -> AsyncIterator[Service]:
    settings = Settings(
        upstream=upstreams,
        listen="127.0.0.1:0",
        admin="127.0.0.1:0",
        probe_seconds=1.0,
        scrape_seconds=1.0,
    )
    service = Service(settings, observers=[completions.append])
    await service.start()
    try:

        async def known() -> bool:
            return all(one.up is not None for one in service.upstreams.all)

        await until(known)
        yield service
    finally:
        await service.stop()


@asynccontextmanager
async def running_stack(folder: Path, llamas: Llamas, every: str = "1s") -> AsyncIterator[Stack]:
    """Run it for the length of the block; `MAIN` begins as the server that drafts for itself.

    Args:
        folder: Where files go.
        llamas: Running servers.
        every: How often Prometheus scrapes.
    """
    completions: list[Completion] = []
    async with AsyncExitStack() as running:
        main = await running.enter_async_context(exchanged(llamas.draft_simple.url))
        gone = f"http://127.0.0.1:{running.enter_context(closed_port())}"
        proxies = {
            name: await running.enter_async_context(_running_proxy(upstreams, completions))
            for name, upstreams in _upstreams(llamas, main.url, gone).items()
        }
        webhook = await running.enter_async_context(running_webhook())
        alertmanager = await running.enter_async_context(running_alertmanager(folder, webhook))
        targets = [one.admin_url.removeprefix("http://") for one in proxies.values()]
        url = await running.enter_async_context(
            running_prometheus(folder, targets, alertmanager, every)
        )
        client = await running.enter_async_context(aiohttp.ClientSession())
        stack = Stack(proxies, Prometheus(url), webhook, main, completions, client)

        async def scraped() -> bool:
            return await stack.last("sum(up)") == len(proxies)

        await until(scraped)  # or Prometheus would not see the first requests as an increase
        yield stack
