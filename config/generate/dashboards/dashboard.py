"""A dashboard: rows of panels, variables, annotations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from config.generate.dashboards.panel import DATASOURCE, Json, Panel
from specmeter.meter import families

COLUMNS = 24


@dataclass(frozen=True)
class Row:
    """Panels that answer one question."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, kw_only=True)
class Dashboard:
    """One dashboard."""

    uid: str
    title: str
    description: str
    rows: Sequence[Row]

    def text(self) -> str:
        """Return its file."""
        return json.dumps(self._json(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    def _json(self) -> Json:
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.description,
            "id": None,
            "schemaVersion": 41,
            "version": 1,
            "editable": False,
            "graphTooltip": 1,
            "liveNow": False,
            "timezone": "browser",
            "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"},
            "timepicker": {},
            "tags": ["specmeter", "speculative-decoding"],
            "links": [_LINK],
            "annotations": {"list": [_BUILTIN, _BUILDS, _ALERTS]},
            "templating": {"list": _variables()},
            "panels": _placed(self.rows),
        }


def _placed(rows: Sequence[Row]) -> list[Json]:
    """Lay panels out from left to right; a line is as high as its highest panel."""
    placed: list[Json] = []
    y = 0
    for row in rows:
        placed.append(
            {
                "id": len(placed) + 1,
                "type": "row",
                "title": row.title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1},
                "panels": [],
            }
        )
        y += 1
        x = height = 0
        for panel in row.panels:
            if x + panel.width > COLUMNS:
                y += height
                x = height = 0
            placed.append(panel.json(len(placed) + 1, x, y))
            x += panel.width
            height = max(height, panel.height)
        y += height
    return placed


def _variables() -> list[Json]:
    up, models = families.REQUESTS.full_name, families.GENERATED_TOKENS.full_name
    return [
        {
            "name": "datasource",
            "label": "Data source",
            "type": "datasource",
            "query": "prometheus",
            "current": {},
            "hide": 0,
            "includeAll": False,
            "multi": False,
            "options": [],
            "refresh": 1,
            "regex": "",
        },
        _variable("job", "Job", f"label_values({up}, job)"),
        _variable("instance", "Instance", f'label_values({up}{{job=~"$job"}}, instance)'),
        _variable("upstream", "Upstream", f'label_values({up}{{job=~"$job"}}, upstream)'),
        _variable(
            "model",
            "Model",
            f'label_values({models}{{job=~"$job",upstream=~"$upstream"}}, model_name)',
        ),
    ]


def _variable(name: str, label: str, query: str) -> Json:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "allValue": ".+",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "hide": 0,
        "includeAll": True,
        "multi": True,
        "options": [],
        "refresh": 2,
        "regex": "",
        "sort": 1,
    }


_LINK: Json = {
    "title": "specmeter",
    "type": "dashboards",
    "tags": ["specmeter"],
    "asDropdown": False,
    "icon": "external link",
    "includeVars": True,
    "keepTime": True,
    "targetBlank": False,
}

_BUILTIN: Json = {
    "name": "Annotations & Alerts",
    "type": "dashboard",
    "datasource": {"type": "grafana", "uid": "-- Grafana --"},
    "builtIn": 1,
    "enable": True,
    "hide": True,
    "iconColor": "blue",
}

_INFO = families.UPSTREAM_INFO.full_name
_OF = 'job=~"$job",instance=~"$instance",upstream=~"$upstream"'

_BUILDS: Json = {
    "name": "Another build of a server",
    "datasource": DATASOURCE,
    "enable": True,
    "expr": (
        f'count by (upstream, backend, build, method) ({_INFO}{{{_OF},build!=""}})'
        f" unless count by (upstream, backend, build, method) ({_INFO}{{{_OF}}} offset 1m)"
    ),
    "iconColor": "purple",
    "step": "1m",
    "tagKeys": "upstream,backend,method",
    "textFormat": "{{backend}} {{build}} {{method}}",
    "titleFormat": "{{upstream}}: another build",
}

_ALERTS: Json = {
    "name": "Alerts",
    "datasource": DATASOURCE,
    "enable": True,
    "expr": 'ALERTS{alertname=~"Speculation.+",alertstate="firing"}',
    "iconColor": "red",
    "step": "1m",
    "tagKeys": "severity,upstream,model_name",
    "textFormat": "{{upstream}} {{model_name}}",
    "titleFormat": "{{alertname}}",
}
