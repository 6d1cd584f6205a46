"""Counters and histograms of one event loop, shown to Prometheus at a scrape.

prometheus_client's own ones take a lock and several calls for each increment, which came to a
third of what a metered request costs. All counting here happens in one thread, so adding to a
dictionary does; the exposition stays the library's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from specmeter.meter.families import Family

Labels = tuple[str, ...]
"""Label values, in the order of the family's labels."""


class Counter(Collector):
    """The series of one counter family."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._values: dict[Labels, float] = {}

    def add(self, labels: Labels, amount: float = 1) -> None:
        """Add to a series, which is created if it is new; 0 creates it.

        Raises:
            ValueError: The amount is negative.
        """
        if amount < 0:
            raise ValueError(f"{self._family.name}: a counter cannot take {amount}")
        try:
            self._values[labels] += amount
        except KeyError:
            self._values[labels] = amount

    def collect(self) -> Iterator[Metric]:
        """Yield the family as it is now."""
        family = self._family
        metric = CounterMetricFamily(family.full_name, family.meaning, labels=family.labels)
        for labels, value in self._values.items():
            metric.add_metric(labels, value)
        yield metric


class Histogram(Collector):
    """The series of one histogram family."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._buckets = family.buckets
        self._bounds: list[str] = [
            floatToGoString(bound)  # type: ignore[no-untyped-call]
            for bound in (*family.buckets, float("inf"))
        ]
        self._series: dict[Labels, list[float]] = {}
        """How many values fell into each bucket alone, and behind that their sum."""

    def expect(self, labels: Labels) -> None:
        """Create a series."""
        if labels not in self._series:
            self._series[labels] = [0] * len(self._bounds) + [0.0]

    def observe(self, labels: Labels, value: float) -> None:
        """Add a value to a series, which is created if it is new."""
        series = self._series.get(labels)
        if series is None:
            self.expect(labels)
            series = self._series[labels]
        series[bisect_left(self._buckets, value)] += 1
        series[-1] += value

    def collect(self) -> Iterator[Metric]:
        """Yield the family as it is now."""
        family = self._family
        metric = HistogramMetricFamily(family.full_name, family.meaning, labels=family.labels)
        for labels, (*counts, total) in self._series.items():
            buckets = list(zip(self._bounds, accumulate(counts), strict=True))
            metric.add_metric(labels, buckets, total)
        yield metric


def counter_in(registry: CollectorRegistry, family: Family) -> Counter:
    """Return a counter that the registry shows."""
    registry.register(made := Counter(family))
    return made


def histogram_in(registry: CollectorRegistry, family: Family) -> Histogram:
    """Return a histogram that the registry shows."""
    registry.register(made := Histogram(family))
    return made
