"""What a panel's queries gave."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tests.grafana.files import filled
from tests.previews.values import name_of
from tests.watch.prometheus import Prometheus, Series


@dataclass(frozen=True)
class Line:
    """One series with the name it has in the panel."""

    name: str
    letter: str
    series: Series

    @property
    def last(self) -> float:
        """The newest finite value; NaN if there is none."""
        finite = [value for value in self.series.values if math.isfinite(value)]
        return finite[-1] if finite else math.nan


@dataclass(frozen=True)
class Span:
    """The time that is shown, and who is asked."""

    prometheus: Prometheus
    begin: float
    end: float
    rate: str
    """In place of $__rate_interval."""

    @property
    def step(self) -> float:
        """Seconds between two points."""
        return max((self.end - self.begin) / 300, 1.0)

    def lines(self, panel: dict[str, Any], upstream: str = "") -> list[Line]:
        """Return what a panel shows, maybe of one upstream only."""
        lines = []
        for target in panel["targets"]:
            answers = self._answers(target, upstream)
            if target["format"] == "heatmap":
                answers = _in_each(answers)
            lines += [
                Line(name_of(target["legendFormat"], one.labels), target["refId"], one)
                for one in sorted(answers, key=lambda one: _key(one.labels))
            ]
        return lines

    def _answers(self, target: dict[str, Any], upstream: str) -> list[Series]:
        expression = target["expr"]
        if upstream:
            expression = expression.replace("$upstream", upstream)
        expression = filled(expression, self.rate, f"{self.end - self.begin:.0f}s")
        if target["instant"]:
            return self.prometheus.query(expression, self.end)
        return self.prometheus.query_range(expression, self.begin, self.end, self.step)

    def marks(self, annotation: dict[str, Any]) -> list[float]:
        """Return when an annotation begins."""
        found = self.prometheus.query_range(
            filled(annotation["expr"]), self.begin, self.end, self.step
        )
        return [
            one.times[0]
            for one in found
            if one.times[0] > self.begin + 0.1 * (self.end - self.begin)
        ]


def _key(labels: dict[str, str]) -> list[tuple[float, str]]:
    """Sort numbers by their size."""
    return [(_number(value), value) for _, value in sorted(labels.items())]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _in_each(cumulative: list[Series]) -> list[Series]:
    """Return what is in each bucket; those beyond the last value are left out."""
    ordered = sorted(cumulative, key=lambda one: _number(one.labels["le"]))
    found, before = [], 0.0
    for one in ordered:
        found.append(Series(one.labels, one.times, [max(one.last - before, 0.0)]))
        before = one.last
    while len(found) > 1 and found[-1].last == 0:
        found.pop()
    return found
