"""Reads the upstreams' own metrics pages from time to time; the traffic does not notice."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence

from prometheus_client import CollectorRegistry

from specmeter.fault import Fault
from specmeter.meter import families
from specmeter.meter.scraped import Scraped, ScrapedCollector
from specmeter.meter.series import Counter
from specmeter.upstream.page_client import PageClient, ScrapeError, ScrapeFailure
from specmeter.upstream.upstreams import Upstream
from specmeter.upstream_pages import (
    PAGES,
    DamagedPageError,
    NoPageError,
    ServerPage,
    Target,
    read_page,
)
from specmeter.upstream_pages.base import Name

_TIMEOUT_SECONDS = 10.0
_UNKNOWN_SECONDS = 1.0
"""How often it is looked whether the kind of a server is known by now."""

_LISTING = "/v1/models"

_log = logging.getLogger("specmeter")


class Scraper:
    """Reads the page of every upstream that has `scrape`, each in its own time.

    The kind of the server has to be known, from the configuration or its answers: what is
    harmless to ask one server makes another load a model or lose what it was asked for.

    Args:
        upstreams: Those without `scrape` are left alone.
        seconds: The pause between two looks at a page.
        position_limit: How many values of `position` there may be.
        registry: Where the families are registered, if there is a page to read.
        timeout_seconds: How long a page may take.
        pages: The pages that are known, by the kind of the server.

    Raises:
        StartupError: A key cannot be read.
    """

    def __init__(
        self,
        upstreams: Sequence[Upstream],
        seconds: float,
        position_limit: int,
        registry: CollectorRegistry,
        *,
        timeout_seconds: float = _TIMEOUT_SECONDS,
        pages: Mapping[str, ServerPage] = PAGES,
    ) -> None:
        wanted = [one for one in upstreams if one.settings.scrape]
        self._seconds = seconds
        self._pages = pages
        self._client = PageClient({one.name: one.key for one in wanted}, timeout_seconds)
        self._scraped = {one: Scraped(one) for one in wanted}
        self._failures = Counter(families.UPSTREAM_SCRAPE_FAILURES)
        self._told: dict[Upstream, str] = {}
        """What the log was last told of an upstream."""
        self._tasks: list[asyncio.Task[None]] = []
        if wanted:
            registry.register(ScrapedCollector(self._scraped.values(), position_limit))
            registry.register(self._failures)
        for one in wanted:
            for reason in ScrapeFailure:
                self._failures.add((one.name, reason), 0)

    async def start(self) -> None:
        """Begin to read; the first page is not waited for."""
        if self._scraped:
            self._client.start()
        self._tasks = [
            asyncio.create_task(self._go_on(one), name=f"specmeter-scrape-{one.name}")
            for one in self._scraped
        ]

    async def stop(self) -> None:
        """Stop reading."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.stop()

    async def _go_on(self, upstream: Upstream) -> None:
        while True:
            try:
                await self._look(upstream)
            except Exception as error:  # noqa: BLE001 - the next look may be better
                self._fail(upstream, error)
            await asyncio.sleep(
                self._seconds if upstream.kind else min(self._seconds, _UNKNOWN_SECONDS)
            )

    async def _look(self, upstream: Upstream) -> None:
        """Read all pages of an upstream; whatever is wrong with one is counted."""
        server = self._pages.get(upstream.kind)
        if server is None:
            if upstream.kind:
                self._tell(upstream, f"{upstream.kind} servers have none that is known")
            elif upstream.up:
                self._tell(upstream, "its kind is not known yet; backend may name it")
            return
        scraped = self._scraped[upstream]
        good: list[Target] = []
        wrong = ""
        try:
            for target in await self._targets(upstream, server):
                try:
                    await self._read(upstream, server, target)
                    good.append(target)
                except ScrapeError as error:  # the next page may be better
                    wrong = self._count(upstream, error)
        except ScrapeError as error:
            wrong = self._count(upstream, error)
        scraped.forget_running(except_for=good)
        if not wrong:
            scraped.read_at = time.time()
        self._tell(upstream, wrong)

    async def _targets(self, upstream: Upstream, server: ServerPage) -> tuple[Target, ...]:
        listing = b""
        if server.needs_listing:
            listing, _ = await self._client.get(upstream, _LISTING, {})
        return server.targets(listing)

    async def _read(self, upstream: Upstream, server: ServerPage, target: Target) -> None:
        body, process = await self._client.get(upstream, target.path, server.remedies)
        try:
            page = read_page(server, body)
        except NoPageError as error:
            raise ScrapeError(ScrapeFailure.NOT_METRICS, str(error)) from None
        except DamagedPageError as error:
            raise ScrapeError(ScrapeFailure.DAMAGED, str(error)) from None
        self._scraped[upstream].take(target, page, process or page.process)
        if server.shows_speculation:
            upstream.tell_configured(any(key.name is Name.DRAFTS for key in page.counters))
        if page.left_out:
            text = f"{page.left_out} numbers in it cannot be true and are left out"
            raise ScrapeError(ScrapeFailure.IMPOSSIBLE_NUMBER, text)

    def _count(self, upstream: Upstream, error: ScrapeError) -> str:
        self._failures.add((upstream.name, error.reason))
        return str(error)

    def _fail(self, upstream: Upstream, error: Exception) -> None:
        self._failures.add((upstream.name, ScrapeFailure.SCRAPER_FAILED))
        self._scraped[upstream].forget_running()
        _log.error("cannot read the metrics of %s: %s", upstream.name, Fault.of(error))

    def _tell(self, upstream: Upstream, wrong: str) -> None:
        """Tell the log what is wrong, once; and once that nothing is."""
        if wrong == self._told.get(upstream):
            return
        self._told[upstream] = wrong
        where = upstream.target.base_url
        if wrong:
            _log.warning(
                "upstream %s: its own metrics at %s cannot be read: %s", upstream.name, where, wrong
            )
        else:
            _log.info("upstream %s: its own metrics at %s are read", upstream.name, where)
