"""What is known at the moment of a scrape: the upstreams and this proxy."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from typing import Protocol

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from specmeter import __version__
from specmeter.meter import families
from specmeter.meter.families import Family
from specmeter.upstream.drafting import Drafting, DraftingWatch


class UpstreamState(Protocol):
    """What a scrape tells of an upstream."""

    name: str
    up: bool | None
    build: str
    method: str
    drafting: DraftingWatch
    last_drafted: dict[str, float]
    """By model: when something was drafted (Unix time)."""

    @property
    def kind(self) -> str:
        """Its kind; empty if unknown."""


class StateCollector(Collector):
    """Made anew on each scrape, so that no series of a former build stays behind."""

    def __init__(self, upstreams: Iterable[UpstreamState]) -> None:
        self._upstreams = tuple(upstreams)

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        build = gauge(families.BUILD_INFO)
        build.add_metric([__version__, platform.python_version()], 1)
        yield build
        up = gauge(families.UPSTREAM_UP)
        info = gauge(families.UPSTREAM_INFO)
        state = gauge(families.UPSTREAM_SPECULATION)
        last = gauge(families.LAST_DRAFTED)
        for upstream in self._upstreams:
            if upstream.up is not None:
                up.add_metric([upstream.name], int(upstream.up))
            if upstream.kind:
                method = upstream.method
                info.add_metric([upstream.name, upstream.kind, upstream.build, method], 1)
            state_now = upstream.drafting.state
            for one in Drafting:
                state.add_metric([upstream.name, one], int(one is state_now))
            for model, moment in upstream.last_drafted.items():
                last.add_metric([upstream.name, model], moment)
        yield up
        yield info
        yield state
        yield last


def gauge(family: Family) -> GaugeMetricFamily:
    """Return a family of gauges without series."""
    return GaugeMetricFamily(family.full_name, family.meaning, labels=family.labels)
