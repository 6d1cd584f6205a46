"""Grafana's files, and what Prometheus is asked for by them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.programs import REPOSITORY

GRAFANA = REPOSITORY / "grafana"
DASHBOARD_FILES = sorted((GRAFANA / "dashboards").glob("*.json"))


@dataclass(frozen=True)
class Query:
    """One query of one panel."""

    dashboard: str
    panel: dict[str, Any]
    target: dict[str, Any]

    def __str__(self) -> str:
        """Name it in a test's id."""
        return f"{self.dashboard}: {self.panel['title']} {self.target['refId']}"

    def filled(self, rate: str, whole: str) -> str:
        """Return the expression with everything chosen, and with intervals.

        Args:
            rate: In place of $__rate_interval.
            whole: In place of $__range.
        """
        return filled(self.target["expr"], rate, whole)


def filled(expression: str, rate: str = "1m", whole: str = "10m") -> str:
    """Return an expression as Grafana would send it with all variables at All."""
    expression = expression.replace("$__rate_interval", rate).replace("$__range", whole)
    return re.sub(r"\$(job|instance|upstream|model)\b", ".+", expression)


def load(name: str) -> dict[str, Any]:
    """Return a dashboard."""
    dashboard: dict[str, Any] = json.loads((GRAFANA / "dashboards" / name).read_text("utf-8"))
    return dashboard


def panels(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    """Return its panels, without the rows' titles."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries() -> Iterator[Query]:
    """Yield every query of every panel."""
    for path in DASHBOARD_FILES:
        for panel in panels(load(path.name)):
            for target in panel["targets"]:
                yield Query(path.stem, panel, target)


def names(expression: str) -> set[str]:
    """Return the metrics that an expression asks for."""
    return set(re.findall(r"\b(?:specmeter_\w+|\w+:specmeter_\w+:\w+|ALERTS)\b", expression))
