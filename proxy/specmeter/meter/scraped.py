"""What the upstreams' own metrics pages said, shown in one schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from specmeter.meter import families
from specmeter.meter.families import Family
from specmeter.meter.series import Labels
from specmeter.upstream_pages import Key, Name, Page, Target, Totals

_FAMILIES: Mapping[Name, Family] = {
    Name.DRAFTS: families.UPSTREAM_DRAFTS,
    Name.DRAFT_TOKENS: families.UPSTREAM_DRAFT_TOKENS,
    Name.ACCEPTED_TOKENS: families.UPSTREAM_ACCEPTED_TOKENS,
    Name.ACCEPTED_PER_POSITION: families.UPSTREAM_ACCEPTED_PER_POSITION,
    Name.DRAFTED_PER_POSITION: families.UPSTREAM_DRAFTED_PER_POSITION,
    Name.VERIFY_CALLS: families.UPSTREAM_VERIFY_CALLS,
    Name.GENERATED_TOKENS: families.UPSTREAM_GENERATED_TOKENS,
    Name.PROMPT_TOKENS: families.UPSTREAM_PROMPT_TOKENS,
}


class Labelled(Protocol):
    """The upstream whose pages are shown."""

    name: str
    models: frozenset[str]

    def label_of(self, model: str | None) -> str:
        """Return the `model_name` label of a model."""


@dataclass(slots=True)
class _PageSoFar:
    target: Target
    totals: Totals = field(default_factory=Totals)
    running: Mapping[str | None, float] = field(default_factory=dict)


class Scraped:
    """What the pages of one upstream have said so far."""

    def __init__(self, upstream: Labelled) -> None:
        self._upstream = upstream
        self._pages: dict[str, _PageSoFar] = {}
        self.read_at: float | None = None
        """Unix time of the last round without a failure; `None` before the first one."""

    @property
    def name(self) -> str:
        """The upstream's name."""
        return self._upstream.name

    def take(self, target: Target, page: Page, process: str) -> None:
        """Add what a page says now.

        Args:
            target: The page.
            page: What it says.
            process: What tells the server's process; empty if nothing does.
        """
        so_far = self._pages.setdefault(target.path, _PageSoFar(target))
        so_far.target = target
        so_far.totals.take(page.counters, process)
        so_far.running = page.running

    def forget_running(self, *, except_for: Iterable[Target] = ()) -> None:
        """Forget what was true only at the moment when it was read."""
        kept = {target.path for target in except_for}
        for path, so_far in self._pages.items():
            if path not in kept:
                so_far.running = {}

    def totals(self) -> Iterator[tuple[Key, str, float]]:
        """Yield each counter with its `model_name` label and its total."""
        for so_far in self._pages.values():
            for key, total in so_far.totals.items():
                yield key, self._label(so_far.target, key.model), total

    def running(self) -> Iterator[tuple[str, float]]:
        """Yield the requests under way by `model_name` label."""
        for so_far in self._pages.values():
            for model, requests in so_far.running.items():
                yield self._label(so_far.target, model), requests

    def _label(self, target: Target, model: str | None) -> str:
        model = model or target.model
        if target.is_whole_server and model not in self._upstream.models:
            model = None  # a server with one model may call it otherwise than its clients do
        return self._upstream.label_of(model)


class ScrapedCollector(Collector):
    """The families read off the upstreams' pages; what no page has said is absent.

    Args:
        scraped: What was read.
        position_limit: How many values of `position` there may be.
    """

    def __init__(self, scraped: Iterable[Scraped], position_limit: int) -> None:
        self._scraped = tuple(scraped)
        self._position_limit = position_limit

    def collect(self) -> Iterator[Metric]:
        """Yield the families as they are now."""
        sums: dict[Name, dict[Labels, float]] = {name: {} for name in Name}
        running: dict[Labels, float] = {}
        for one in self._scraped:
            for key, model_name, total in one.totals():
                if key.position is None:
                    _add(sums[key.name], (one.name, model_name), total)
                elif key.position < self._position_limit:
                    _add(sums[key.name], (one.name, model_name, str(key.position)), total)
            for model_name, requests in one.running():
                _add(running, (one.name, model_name), requests)
        for name, family in _FAMILIES.items():
            counter = CounterMetricFamily(family.full_name, family.meaning, labels=family.labels)
            for labels, total in sums[name].items():
                counter.add_metric(labels, total)
            yield counter
        yield _gauge(families.UPSTREAM_RUNNING, running)
        times: dict[Labels, float] = {
            (one.name,): one.read_at for one in self._scraped if one.read_at is not None
        }
        yield _gauge(families.UPSTREAM_SCRAPE_TIME, times)


def _add(sums: dict[Labels, float], labels: Labels, number: float) -> None:
    sums[labels] = sums.get(labels, 0.0) + number


def _gauge(family: Family, values: Mapping[Labels, float]) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(family.full_name, family.meaning, labels=family.labels)
    for labels, value in values.items():
        gauge.add_metric(labels, value)
    return gauge
