"""Questions to a Prometheus."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen


@dataclass(frozen=True)
class Series:
    """One answer: labels, and values over time (one for a question about a moment)."""

    labels: dict[str, str]
    times: list[float]
    values: list[float]

    @property
    def last(self) -> float:
        """The newest value."""
        return self.values[-1]

    @property
    def is_finite(self) -> bool:
        """Whether there is a number that can be drawn."""
        return any(math.isfinite(value) for value in self.values)


@dataclass(frozen=True)
class Prometheus:
    """Asks a running one. It blocks: in a loop, ask from a thread."""

    url: str
    answers: dict[str, list[Series]] = field(default_factory=dict)

    def query(self, expression: str, at: float | None = None) -> list[Series]:
        """Return what an expression gives at a moment (Unix time), now if none is given."""
        data = self._ask("query", query=expression, time=time.time() if at is None else at)
        if data["resultType"] == "scalar":
            return [Series({}, [data["result"][0]], [float(data["result"][1])])]
        return [_series(one["metric"], [one["value"]]) for one in data["result"]]

    def query_range(self, expression: str, begin: float, end: float, step: float) -> list[Series]:
        """Return what an expression gives over time."""
        data = self._ask("query_range", query=expression, start=begin, end=end, step=step)
        return [_series(one["metric"], one["values"]) for one in data["result"]]

    def alerts(self) -> list[dict[str, Any]]:
        """Return the alerts that are pending or firing."""
        alerts: list[dict[str, Any]] = self._ask("alerts")["alerts"]
        return alerts

    def rules(self) -> list[dict[str, Any]]:
        """Return all rules, with how they went."""
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]

    def _ask(self, what: str, **parameters: object) -> dict[str, Any]:
        url = f"{self.url}/api/v1/{what}?{urlencode(parameters)}"
        with urlopen(url, timeout=20) as answer:  # noqa: S310 - a server of the test's own
            data: dict[str, Any] = json.load(answer)["data"]
            return data


def _series(labels: dict[str, str], samples: list[list[Any]]) -> Series:
    return Series(labels, [one[0] for one in samples], [float(one[1]) for one in samples])
