"""Grafana's panels, as few kinds as do, each in the JSON that Grafana 10 to 13 load."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Json = dict[str, Any]
Kind = Literal["stat", "timeseries", "bargauge", "table", "state-timeline"]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}

BLUE, GREEN, YELLOW, ORANGE, RED = "blue", "green", "yellow", "orange", "red"


@dataclass(frozen=True, kw_only=True)
class Target:
    """One query."""

    expr: str
    legend: str
    instant: bool = False
    """One value, of the end of the range, instead of a line over it."""
    buckets: bool = False
    """A histogram's cumulative buckets, to be shown as what is in each."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One panel.

    Attributes:
        title: with the denominator, where it is a ratio.
        description: in plain words: what it is, what a bad value means, what to do.
        unit: Grafana's name of it.
        width: of 24.
        steps: colours by value; the first one has no lower end.
        texts: what is shown in place of a value, and its colour.
        columns: of a table, by the queries' letters.
        styles: colour, dashes and fill of lines, by their names; see `line`.
        repeat: the variable for each value of which there is one of it.
    """

    kind: Kind
    title: str
    description: str
    unit: str
    targets: Sequence[Target]
    width: int = 8
    height: int = 8
    steps: Sequence[tuple[float | None, str]] = ((None, BLUE),)
    texts: Sequence[tuple[float, str, str]] = ()
    columns: Sequence[str] = ()
    styles: Sequence[Json] = ()
    no_value: str = "–"
    minimum: float | None = None
    maximum: float | None = None
    decimals: int | None = None
    stacked: bool = False
    repeat: str = ""
    interval: str = ""
    options: Json = field(default_factory=dict)

    def json(self, number: int, x: int, y: int) -> Json:
        """Return the panel as Grafana reads it."""
        panel: Json = {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": [
                _target(target, letter, table=self.kind == "table")
                for target, letter in zip(self.targets, string.ascii_uppercase, strict=False)
            ],
            "fieldConfig": {"defaults": self._defaults(), "overrides": list(self.styles)},
            "options": _OPTIONS[self.kind] | self.options,
        }
        if self.interval:
            panel["interval"] = self.interval
        if self.columns:
            panel["transformations"] = _joined(self.columns)
        if self.repeat:
            panel |= {"repeat": self.repeat, "repeatDirection": "h", "maxPerRow": 2}
        return panel

    def _defaults(self) -> Json:
        lines = self.kind == "timeseries"
        defaults: Json = {
            "unit": self.unit,
            "noValue": self.no_value,
            "color": {"mode": "palette-classic" if lines else "thresholds"},
            "thresholds": {
                "mode": "absolute",
                "steps": [{"color": colour, "value": value} for value, colour in self.steps],
            },
            "mappings": [
                {
                    "type": "value",
                    "options": {
                        f"{value:g}": {"text": text, "color": colour, "index": index}
                        for index, (value, text, colour) in enumerate(self.texts)
                    },
                }
            ]
            if self.texts
            else [],
        }
        if lines:
            defaults["custom"] = {
                "lineWidth": 2,
                "fillOpacity": 30 if self.stacked else 0,
                "showPoints": "auto",
                "spanNulls": 300000,
                "stacking": {"mode": "normal" if self.stacked else "none", "group": "A"},
            }
        for name, value in (
            ("min", self.minimum),
            ("max", self.maximum),
            ("decimals", self.decimals),
        ):
            if value is not None:
                defaults[name] = value
        return defaults


def copied(panel: Panel, **changes: Any) -> Panel:
    """Return a panel with something changed."""
    return replace(panel, **changes)


def line(
    name: str, colour: str, *, dashed: bool = False, fill_to: str = "", width: int = 2
) -> Json:
    """Return the style of the line of that name, maybe filled down to the line of another name."""
    custom = [
        ("color", {"mode": "fixed", "fixedColor": colour}),
        ("custom.lineWidth", width),
    ]
    if dashed:
        custom.append(("custom.lineStyle", {"fill": "dash", "dash": [6, 6]}))
    if fill_to:
        custom += [("custom.fillBelowTo", fill_to), ("custom.fillOpacity", 20)]
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": key, "value": value} for key, value in custom],
    }


_LEGEND: Json = {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []}
_LAST: Json = {"calcs": ["lastNotNull"], "fields": "", "values": False}

_OPTIONS: dict[Kind, Json] = {
    "stat": {
        "reduceOptions": _LAST,
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "textMode": "value_and_name",
    },
    "timeseries": {"legend": _LEGEND, "tooltip": {"mode": "multi", "sort": "desc"}},
    "bargauge": {
        "reduceOptions": _LAST,
        "displayMode": "basic",
        "orientation": "horizontal",
        "showUnfilled": True,
        "valueMode": "color",
        "namePlacement": "auto",
    },
    "table": {"showHeader": True, "cellHeight": "sm"},
    "state-timeline": {
        "legend": _LEGEND,
        "mergeValues": True,
        "showValue": "auto",
        "rowHeight": 0.9,
        "alignValue": "center",
        "tooltip": {"mode": "single", "sort": "none"},
    },
}


def _target(target: Target, letter: str, *, table: bool) -> Json:
    kind = "table" if table else "heatmap" if target.buckets else "time_series"
    return {
        "refId": letter,
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": target.expr,
        "legendFormat": target.legend,
        "format": kind,
        "instant": target.instant,
        "range": not target.instant,
    }


def _joined(columns: Sequence[str]) -> list[Json]:
    """Return what makes one table of one query a column."""
    letters = [f"Value #{letter}" for letter in string.ascii_uppercase[: len(columns)]]
    return [
        {"id": "merge", "options": {}},
        {
            "id": "organize",
            "options": {
                "excludeByName": {"Time": True, "job": True},
                "indexByName": {
                    name: index for index, name in enumerate(["upstream", "model_name", *letters])
                },
                "renameByName": {
                    "model_name": "model",
                    **dict(zip(letters, columns, strict=True)),
                },
            },
        },
    ]
