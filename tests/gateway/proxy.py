"""Runs specmeter in this process, and reads its metrics as Prometheus does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from specmeter.config import Settings, Upstream
from specmeter.gateway.front import Front
from specmeter.gateway.server import ClientPatience
from specmeter.meter.completion import Completion
from specmeter.service import Service
from tests.gateway.client import ask
from tests.scripted import SECONDS, limit_buffers

ANY_PORT = "127.0.0.1:0"


@dataclass(frozen=True)
class Sample:
    name: str
    labels: dict[str, str]
    value: float


class Metrics:
    """One scrape; names are without `specmeter_`."""

    def __init__(self, page: bytes) -> None:
        self.samples = [
            Sample(sample.name.removeprefix("specmeter_"), sample.labels, sample.value)
            for family in text_string_to_metric_families(page.decode())
            for sample in family.samples
        ]

    def total(self, name: str, **labels: str) -> float | None:
        """Add up all series of a name with these labels; `None` if there is none."""
        wanted = labels.items()
        values = [s.value for s in self.samples if s.name == name and wanted <= s.labels.items()]
        return sum(values) if values else None

    def by(self, name: str, label: str) -> dict[str, float]:
        """Return what is not 0 by the values of one label."""
        found: dict[str, float] = {}
        for sample in self.samples:
            if sample.name == name and sample.value:
                key = sample.labels[label]
                found[key] = found.get(key, 0.0) + sample.value
        return found


@dataclass
class Proxy:
    """A running specmeter."""

    service: Service
    _seen: list[Completion] = field(default_factory=list)

    @property
    def seen(self) -> list[Completion]:
        """The completions that were metered."""
        self.service._recorder.catch_up()
        return self._seen

    @property
    def url(self) -> str:
        return self.service.data_url

    @property
    def front(self) -> Front:
        assert isinstance(self.service._front, Front)
        return self.service._front

    async def metrics(self) -> Metrics:
        """Scrape, once all that was asked for is counted."""
        if isinstance(front := self.service._front, Front):
            await until(lambda: front.gateway.under_way == 0)
        await self.service._front.catch_up()
        await self.service._recorder.settle()
        answer = await ask(self.service.admin_url, "GET", "/metrics")
        assert answer.status == 200
        return Metrics(answer.body)


@asynccontextmanager
async def running(
    *urls: str, wait_for_probe: bool = True, patience: ClientPatience | None = None, **settings: Any
) -> AsyncIterator[Proxy]:
    """Run specmeter in front of one server or several.

    Args:
        urls: The servers; several are named a, b, c…
        wait_for_probe: Whether every server has to have been asked for its models first.
        patience: How long clients are waited for; as in `specmeter serve` unless told.
        settings: Keys of Settings, and keys of Upstream for all of them.
    """
    of_upstream = {key: settings.pop(key) for key in list(settings) if key in _UPSTREAM_KEYS}
    if len(urls) == 1:
        upstreams: tuple[Upstream, ...] = (Upstream(url=urls[0], **of_upstream),)
    else:
        named = zip("abcdef", urls, strict=False)
        upstreams = tuple(Upstream(name=name, url=url, **of_upstream) for name, url in named)
    options: dict[str, Any] = {
        "listen": ANY_PORT,
        "admin": ANY_PORT,
        "drain_seconds": 1.0,
        "probe_seconds": 3600.0,
    }
    seen: list[Completion] = []
    service = Service(Settings(upstream=upstreams, **(options | settings)), [seen.append], patience)
    await service.start()
    try:
        if wait_for_probe:
            await until(lambda: all(one.up is not None for one in service.upstreams.all))
        yield Proxy(service, seen)
    finally:
        await service.stop()


def keep_little(proxy: Proxy, size: int = 4096) -> None:
    """Have the system keep little of what goes to clients and comes from them."""
    for listener in proxy.front.listeners:
        for plug in listener.sockets:
            limit_buffers(plug, send=size, receive=size)


async def until(condition: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Wait for a condition.

    Raises:
        TimeoutError: It did not come true.
    """
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.002)


_UPSTREAM_KEYS = frozenset(Upstream.__struct_fields__) - {"url"}
