"""What is known of plain speed and of the cost of a step at the moment of a scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from specmeter.meter import families
from specmeter.meter.state import gauge
from specmeter.speedup.estimator import Estimator
from specmeter.speedup.interval import Interval
from specmeter.speedup.state import BaselineState, ModelState


class SpeedupCollector(Collector):
    """Made anew on each scrape, so that no series of a forgotten baseline stays behind.

    Args:
        estimator: What knows.
        bounds: Tokens per second that plain decoding cannot exceed, by upstream.
        clock: Unix time.
    """

    def __init__(
        self, estimator: Estimator, bounds: Mapping[str, float], clock: Callable[[], float]
    ) -> None:
        self._estimator = estimator
        self._bounds = bounds
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        states = self._estimator.state(self._clock())
        yield from _baselines(states)
        yield from _costs(states)
        bound = gauge(families.PLAIN_BOUND)
        for upstream, tokens_per_second in self._bounds.items():
            bound.add_metric([upstream], tokens_per_second)
        yield bound


def _baselines(states: tuple[ModelState, ...]) -> Iterator[Metric]:
    seconds = gauge(families.BASELINE_SECONDS_PER_TOKEN)
    error = gauge(families.BASELINE_RELATIVE_ERROR)
    updated = gauge(families.BASELINE_UPDATED)
    stale = gauge(families.BASELINE_STALE)
    for state in states:
        for baseline in state.baselines:
            labels = [state.upstream, state.model_name, baseline.source]
            if baseline.strata:
                stale.add_metric(labels, int(baseline.stale))
            _add_strata(labels, baseline, (seconds, error, updated))
    yield from (seconds, error, updated, stale)


def _add_strata(
    labels: list[str],
    baseline: BaselineState,
    into: tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily],
) -> None:
    seconds, error, updated = into
    for speed in baseline.strata:
        place = [*labels, speed.stratum.context, speed.stratum.in_flight]
        seconds.add_metric(place, speed.seconds_per_token)
        error.add_metric(place, speed.relative_error)
        updated.add_metric(place, speed.measured_at)


def _costs(states: tuple[ModelState, ...]) -> Iterator[Metric]:
    fixed = gauge(families.STEP_FIXED_SECONDS)
    draft = gauge(families.STEP_DRAFT_SECONDS)
    break_even = gauge(families.BREAK_EVEN)
    expected = gauge(families.EXPECTED_SPEEDUP)
    for state in states:
        model = [state.upstream, state.model_name]
        if (cost := state.step_cost) is not None:
            _add_bounds(fixed, model, cost.step_seconds.value, cost.step_seconds.interval)
            _add_bounds(draft, model, cost.draft_seconds.value, cost.draft_seconds.interval)
            if (even := cost.break_even) is not None:
                _add_bounds(break_even, model, even.value, even.interval)
        for one in state.draft_lengths:
            labels = [*model, str(one.length), str(one.now).lower()]
            _add_bounds(expected, labels, one.speedup, one.interval)
    yield from (fixed, draft, break_even, expected)


def _add_bounds(
    into: GaugeMetricFamily, labels: list[str], value: float, interval: Interval
) -> None:
    into.add_metric([*labels, "estimate"], value)
    into.add_metric([*labels, "low"], interval.low)
    into.add_metric([*labels, "high"], interval.high)
