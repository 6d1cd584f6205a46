"""Draws a dashboard: rows, panels in their places, marks of annotations."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image

from tests.previews.asked import Span
from tests.previews.panels import KINDS, legend_size, nothing
from tests.previews.values import CARD, COLOURS, GROUND, TEXT

_COLUMN, _ROW = 60, 36
"""Pixels of a column and a row of Grafana's grid."""

_DPI = 100
_TOP = 50


class Picture:
    """The picture of one dashboard."""

    def __init__(self, dashboard: dict[str, Any], span: Span, upstreams: list[str]) -> None:
        self._dashboard = dashboard
        self._span = span
        self._upstreams = upstreams
        rows = max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in dashboard["panels"])
        self._width, self._height = 24 * _COLUMN, rows * _ROW + _TOP
        self._figure = Figure(
            figsize=(self._width / _DPI, self._height / _DPI), dpi=_DPI, facecolor=GROUND
        )
        FigureCanvasAgg(self._figure)
        self._marks = [
            (span.marks(one), COLOURS[one["iconColor"]])
            for one in dashboard["annotations"]["list"]
            if "expr" in one
        ]

    def save(self, path: Path) -> None:
        """Draw everything into a PNG."""
        self._text(14, 24, self._dashboard["title"], size=15, weight="bold")
        for panel in self._dashboard["panels"]:
            place = panel["gridPos"]
            if panel["type"] == "row":
                self._text(12, _TOP + place["y"] * _ROW + 20, f"▾ {panel['title']}", size=11)
            elif panel.get("repeat"):
                width = place["w"] / len(self._upstreams)
                for index, upstream in enumerate(self._upstreams):
                    beside = {**place, "x": place["x"] + index * width, "w": width}
                    self._panel(panel, beside, upstream)
            else:
                self._panel(panel, place)
        self._figure.savefig(path, facecolor=GROUND)
        with Image.open(path) as image:
            few = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
            few.save(path, optimize=True)

    def _panel(self, panel: dict[str, Any], place: dict[str, float], upstream: str = "") -> None:
        left, top = place["x"] * _COLUMN + 4, _TOP + place["y"] * _ROW + 4
        width, height = place["w"] * _COLUMN - 8, place["h"] * _ROW - 8
        self._card(left, top, width, height)
        title = panel["title"].replace("$upstream", upstream)
        for index, line in enumerate(textwrap.wrap(title, int(width / 7.5))[:2]):
            self._text(left + 10, top + 15 + index * 14, line, size=8.5, weight="bold")
        lines = self._span.lines(panel, upstream)
        lined = panel["type"] in {"timeseries", "state-timeline"}
        below = 6
        if lined:
            _, rows = legend_size(width - 80, lines)
            below = 28 + 14 * rows if panel["type"] == "timeseries" else 28
        inside = (left + (64 if lined else 8), top + 42, width - (80 if lined else 16))
        axes = self._figure.add_axes(self._place(*inside, max(height - 46 - below, 30)))
        lines = [line for line in lines if line.series.is_finite]
        if not lines:
            nothing(axes, panel)
            return
        KINDS[panel["type"]](axes, panel, lines, self._span)
        if panel["type"] == "timeseries":
            for times, colour in self._marks:
                for time in times:
                    axes.axvline(time, color=colour, ls=":", lw=1)

    def _place(
        self, left: float, top: float, width: float, height: float
    ) -> tuple[float, float, float, float]:
        """Return pixels from the top as shares from the bottom."""
        return (
            left / self._width,
            1 - (top + height) / self._height,
            width / self._width,
            height / self._height,
        )

    def _card(self, left: float, top: float, width: float, height: float) -> None:
        x, y, share, rise = self._place(left, top, width, height)
        self._figure.add_artist(
            FancyBboxPatch(
                *((x, y), share, rise),
                boxstyle="square,pad=0",
                facecolor=CARD,
                edgecolor="#25282e",
                transform=self._figure.transFigure,
                zorder=0,
            )
        )

    def _text(
        self, left: float, top: float, text: str, size: float, weight: str = "normal"
    ) -> None:
        x, y, _, _ = self._place(left, top, 0, 0)
        self._figure.text(x, y, text, fontsize=size, color=TEXT, va="center", weight=weight)
