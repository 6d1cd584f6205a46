"""Upstreams that serve metrics pages, and what specmeter makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry, generate_latest

from specmeter import config
from specmeter.backends.openai import OpenAI
from specmeter.upstream.scraper import Scraper
from specmeter.upstream.upstreams import Upstream
from specmeter.upstream_pages import PAGES, ServerPage
from tests.gateway.proxy import Metrics, Proxy
from tests.scripted import SECONDS, Call, Field, Script, answer, response

TEXT: Field = (b"Content-Type", b"text/plain; version=0.0.4")

OFTEN = 0.01
"""Seconds between two looks."""


def page(body: str | bytes, *fields: Field) -> Script:
    """Make a script that answers with a page."""
    data = body.encode() if isinstance(body, str) else body
    return answer(response(data, "200 OK", TEXT, *fields))


def status(line: str, body: bytes = b"{}") -> Script:
    """Make a script that answers with another status."""
    return answer(response(body, line))


async def hang(call: Call) -> None:
    """Take the request, and never answer."""
    await call.body()
    await call.gone()


async def until_shown(proxy: Proxy, condition: Callable[[Metrics], object]) -> Metrics:
    """Wait until specmeter's metrics show something.

    Raises:
        TimeoutError: They never did.
    """
    async with asyncio.timeout(SECONDS):
        while True:
            metrics = await proxy.metrics()
            if condition(metrics):
                return metrics
            await asyncio.sleep(0.005)


def failed(metrics: Metrics, reason: str) -> bool:
    """Tell whether a page could not be read, for this and no other reason."""
    return set(metrics.by("upstream_scrape_failures_total", "reason")) == {reason}


def has_numbers(metrics: Metrics) -> bool:
    """Tell whether anything of a page is shown."""
    names = {sample.name for sample in metrics.samples}
    return any(name.startswith("upstream_") for name in names - _OF_THE_PROXY)


_OF_THE_PROXY = {"upstream_up", "upstream_info", "upstream_failures_total"} | {
    "upstream_speculation",
    "upstream_scrape_failures_total",
}


class _Kind(OpenAI):
    """A kind of which only the name counts."""

    def __init__(self, name: str) -> None:
        self.name = name


@asynccontextmanager
async def scraping(
    url: str,
    kind: str,
    *,
    timeout_seconds: float = SECONDS,
    pages: Mapping[str, ServerPage] = PAGES,
) -> AsyncIterator[Callable[[], Metrics]]:
    """Run a scraper without a proxy; give what reads its metrics."""
    upstream = Upstream(
        config.Upstream(url=url, models=("m",), scrape=True), asyncio.get_running_loop()
    )
    upstream.backend = _Kind(kind)
    registry = CollectorRegistry()
    scraper = Scraper([upstream], OFTEN, 16, registry, timeout_seconds=timeout_seconds, pages=pages)
    await scraper.start()
    try:
        yield lambda: Metrics(generate_latest(registry))
    finally:
        await scraper.stop()
        upstream.pool.close()
