"""Counts what is done for comparison: held-out requests, replays, and what outputs say."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry

from specmeter.meter import families
from specmeter.meter.series import counter_in, histogram_in
from specmeter.shadow.comparison import Comparison

IDENTICAL, DIVERGED = "identical", "diverged"


class PlainMeter:
    """The counters of holdout and shadow."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._holdouts = counter_in(registry, families.HOLDOUT_REQUESTS)
        self._replays = counter_in(registry, families.SHADOW_REPLAYS)
        self._checks = counter_in(registry, families.OUTPUT_CHECKS)
        self._first_difference = histogram_in(registry, families.FIRST_DIFFERENCE)

    def expect_holdout(self, upstream: str, results: Iterable[str]) -> None:
        """Create the series of an upstream with a holdout."""
        for result in results:
            self._holdouts.add((upstream, result), 0)

    def expect_replays(self, upstream: str, results: Iterable[str]) -> None:
        """Create the series of an upstream with a shadow."""
        for result in results:
            self._replays.add((upstream, result), 0)

    def expect_checks(self, upstream: str, model_name: str) -> None:
        """Create the series of a model whose outputs are compared."""
        for result in (IDENTICAL, DIVERGED):
            self._checks.add((upstream, model_name, result), 0)
        self._first_difference.expect((upstream, model_name))

    def count_holdout(self, upstream: str, result: str) -> None:
        """Count a request that was drawn."""
        self._holdouts.add((upstream, result))

    def count_replay(self, upstream: str, result: str) -> None:
        """Count a request that was drawn for a replay."""
        self._replays.add((upstream, result))

    def count_comparison(self, upstream: str, model_name: str, comparison: Comparison) -> None:
        """Count a greedy output that was compared with its replay."""
        model = (upstream, model_name)
        if comparison.identical:
            self._checks.add((*model, IDENTICAL))
        else:
            self._checks.add((*model, DIVERGED))
            self._first_difference.observe(model, comparison.same_characters)
