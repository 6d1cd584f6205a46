"""Draws one panel of each kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tests.previews.asked import Line, Span
from tests.previews.values import COLOURS, FAINT, PALETTE, TEXT, colour_of, written

_GAP_SECONDS = 300
_MOST_BARS = 24
_MOST_ROWS = 4


def _defaults(panel: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = panel["fieldConfig"]["defaults"]
    return found


def nothing(axes: Axes, panel: dict[str, Any]) -> None:
    """Draw what is shown in place of values."""
    axes.axis("off")
    text = _defaults(panel)["noValue"]
    axes.text(0.5, 0.5, text, ha="center", va="center", color=FAINT, fontsize=11)


def stat(axes: Axes, panel: dict[str, Any], lines: list[Line], _span: Span) -> None:
    """Draw values large, their names small."""
    axes.axis("off")
    defaults = _defaults(panel)
    filled = panel["options"]["colorMode"] == "background"
    height = 1 / len(lines)
    texts = [written(line.last, defaults) for line in lines]
    room = axes.bbox.width * 0.5 / max(len(text) for text in texts)
    size = min(30, 92 / len(lines), room * 0.95)
    names = max(5.5, min(9, axes.bbox.width * 0.4 / max(len(line.name) for line in lines) * 1.9))
    for index, (line, text) in enumerate(zip(lines, texts, strict=True)):
        bottom = 1 - (index + 1) * height
        colour = colour_of(line.last, defaults)
        if filled:
            box = Rectangle((0.02, bottom + 0.03), 0.96, height - 0.06, color=colour, alpha=0.9)
            axes.add_patch(box)
        middle = bottom + height / 2
        axes.text(
            *(0.96, middle, text),
            ha="right",
            va="center",
            fontsize=size * 0.8 if filled else size,
            fontweight="bold",
            color="#ffffff" if filled else colour,
        )
        axes.text(
            *(0.05, middle, _broken(line.name, len(lines))),
            ha="left",
            va="center",
            fontsize=names,
            color="#ffffff" if filled else TEXT,
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def _broken(name: str, lines: int) -> str:
    """Return a name in as many lines as there is room for."""
    if lines > 4:
        return name
    return name.replace(" ", "\n", 1).replace(": ", ":\n")


def timeseries(axes: Axes, panel: dict[str, Any], lines: list[Line], span: Span) -> None:
    """Draw lines over time, bands, and a legend below."""
    defaults = _defaults(panel)
    styles = {one["matcher"]["options"]: one["properties"] for one in _overrides(panel)}
    drawn = {}
    below: list[float] = []
    for index, line in enumerate(lines):
        style = {one["id"]: one["value"] for one in styles.get(line.name, [])}
        colour = COLOURS.get(style.get("color", {}).get("fixedColor", ""), "")
        colour = colour or PALETTE[index % len(PALETTE)]
        times, values = _with_gaps(line)
        if defaults["custom"]["stacking"]["mode"] == "normal":
            values = [0 if math.isnan(value) else value for value in line.series.values]
            base = below if len(below) == len(values) else [0.0] * len(values)
            below = [a + b for a, b in zip(base, values, strict=True)]
            axes.fill_between(line.series.times, base, below, color=colour, alpha=0.5, lw=0)
            axes.plot([], [], color=colour, label=line.name, lw=3)
            continue
        axes.plot(
            *(times, values),
            color=colour,
            label=line.name,
            lw=style.get("custom.lineWidth", 2) * 0.8,
            ls=(0, (5, 4)) if "custom.lineStyle" in style else "-",
        )
        drawn[line.name] = (times, values, colour, style.get("custom.fillBelowTo"))
    for times, values, colour, other in drawn.values():
        if other in drawn:
            lower = dict(zip(*drawn[other][:2], strict=True))
            ends = [lower.get(time, math.nan) for time in times]
            axes.fill_between(times, values, ends, color=colour, alpha=0.2, lw=0)
    _scale(axes, defaults, span)
    if lines:
        legend(axes, lines)


def legend(axes: Axes, lines: list[Line]) -> None:
    """Draw the names below, as many side by side as have room; some, if there are many."""
    handles, names = axes.get_legend_handles_labels()
    columns, rows = legend_size(axes.bbox.width, lines)
    axes.legend(
        *(handles[: columns * rows], names[: columns * rows]),
        loc="upper left",
        bbox_to_anchor=(-40 / axes.bbox.width, -24 / axes.bbox.height),
        ncols=columns,
        frameon=False,
        fontsize=7.5,
        labelcolor=TEXT,
        handlelength=1.2,
        columnspacing=1.0,
        labelspacing=0.35,
        borderaxespad=0.0,
    )


def legend_size(width: float, lines: list[Line]) -> tuple[int, int]:
    """Return columns and rows of the legend of a panel that is so many pixels wide."""
    longest = max((len(line.name) for line in lines), default=1)
    columns = max(1, min(int((width + 40) / (longest * 6.2 + 32)), len(lines)))
    return columns, min(-(-len(lines) // columns), _MOST_ROWS)


def _overrides(panel: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = panel["fieldConfig"]["overrides"]
    return found


def _with_gaps(line: Line) -> tuple[list[float], list[float]]:
    times, values = [line.series.times[0]], [line.series.values[0]]
    for (before, _), (time, value) in pairwise(
        zip(line.series.times, line.series.values, strict=True)
    ):
        if time - before > _GAP_SECONDS:
            times.append(before + 1)
            values.append(math.nan)
        times.append(time)
        values.append(value)
    return times, values


def _scale(axes: Axes, defaults: dict[str, Any], span: Span) -> None:
    axes.set_xlim(span.begin, span.end)
    low, high = axes.get_ylim()
    minimum, maximum = defaults.get("min"), defaults.get("max")
    axes.set_ylim(low if minimum is None else minimum, high if maximum is None else maximum * 1.02)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    shown = {"unit": defaults["unit"], "mappings": []}
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: written(value, shown)))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda time, _: datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S"))
    )
    axes.tick_params(colors=FAINT, labelsize=7, length=0)
    axes.grid(color="#2c3235", lw=0.6)
    axes.set_facecolor("none")
    for side in axes.spines.values():
        side.set_visible(False)


def bargauge(axes: Axes, panel: dict[str, Any], lines: list[Line], _span: Span) -> None:
    """Draw a bar for each value."""
    axes.axis("off")
    defaults = _defaults(panel)
    lines = lines[:_MOST_BARS]
    greatest = defaults.get("max") or max((line.last for line in lines), default=1) or 1
    for index, line in enumerate(lines):
        y = -index
        axes.barh(y, 1, 0.7, color="#22252b")
        width = max(line.last / greatest, 0.004)
        axes.barh(y, width, 0.7, color=colour_of(line.last, defaults))
        small = 8 if len(lines) < 9 else 6.5
        axes.text(-0.02, y, line.name, ha="right", va="center", fontsize=small, color=TEXT)
        text = written(line.last, defaults)
        axes.text(1.02, y, text, ha="left", va="center", fontsize=small, color=TEXT)
    longest = max((len(line.name) for line in lines), default=0)
    names = min((longest * 7.6 + 12) / axes.bbox.width, 0.6)
    axes.set_xlim(-names / (1 - names - 0.14), 1 + 0.14 / (1 - names - 0.14))
    axes.set_ylim(-max(len(lines), 4) + 0.4, 0.6)


def table(axes: Axes, panel: dict[str, Any], lines: list[Line], _span: Span) -> None:
    """Draw the queries' values side by side."""
    axes.axis("off")
    defaults = _defaults(panel)
    renamed = panel["transformations"][1]["options"]["renameByName"]
    hidden = {"job", "__name__"}
    names = [name for name in lines[0].series.labels if name not in hidden]
    names.sort(key=lambda name: ("upstream", "model_name").index(name) if name in renamed else -1)
    names.sort(key=lambda name: name != "upstream")
    letters = [target["refId"] for target in panel["targets"]]
    rows: dict[tuple[str, ...], dict[str, float]] = {}
    for line in lines:
        key = tuple(line.series.labels.get(name, "") for name in names)
        rows.setdefault(key, {})[line.letter] = line.last
    heads = [renamed.get(name, name) for name in names]
    heads += [renamed[f"Value #{letter}"] for letter in letters]
    for column, head in enumerate(heads):
        x = (column + 0.15) / len(heads)
        axes.text(x, 0.93, head, fontsize=8.5, color="#6e9fff", va="center")
    for index, (key, values) in enumerate(rows.items()):
        y = 0.93 - (index + 1) * 0.17
        cells = list(key)
        cells += [written(values[one], defaults) if one in values else "" for one in letters]
        for column, cell in enumerate(cells):
            axes.text((column + 0.15) / len(heads), y, cell, fontsize=8.5, color=TEXT, va="center")
        axes.axhline(y + 0.085, color="#2c3235", lw=0.8)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def state_timeline(axes: Axes, panel: dict[str, Any], lines: list[Line], span: Span) -> None:
    """Draw a bar in the colours of its values over time."""
    defaults = _defaults(panel)
    for index, line in enumerate(lines):
        series = line.series
        ends = [*series.times[1:], series.times[-1] + span.step]
        for begin, end, value in zip(series.times, ends, series.values, strict=True):
            axes.barh(-index, end - begin, 0.8, begin, color=colour_of(value, defaults), lw=0)
        text = written(line.last, defaults)
        axes.text(
            *(span.end - (span.end - span.begin) * 0.02, -index, text),
            ha="right",
            va="center",
            fontsize=8,
            color="#ffffff",
        )
    _scale(axes, defaults | {"min": -len(lines) + 0.4, "max": None}, span)
    axes.set_ylim(-len(lines) + 0.4, 0.6)
    axes.set_yticks([-index for index in range(len(lines))], [line.name for line in lines])
    axes.grid(visible=False)


Draw = Callable[[Axes, dict[str, Any], list[Line], Span], None]

KINDS: dict[str, Draw] = {
    "stat": stat,
    "timeseries": timeseries,
    "bargauge": bargauge,
    "table": table,
    "state-timeline": state_timeline,
}
