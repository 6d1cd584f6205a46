"""How Grafana would write and colour a value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

COLOURS = {
    "red": "#f2495c",
    "green": "#73bf69",
    "yellow": "#fade2a",
    "orange": "#ff9830",
    "blue": "#5794f2",
    "purple": "#b877d9",
    "gray": "#8e8e8e",
}
PALETTE = (
    *("#73bf69", "#f2cc0c", "#8ab8ff", "#ff780a", "#f2495c", "#5794f2", "#b877d9"),
    *("#705da0", "#37872d", "#fade2a", "#447ebc", "#c15c17", "#890f02", "#0a437c"),
)
TEXT, FAINT, GROUND, CARD = "#ccccdc", "#9d9da8", "#111217", "#181b1f"


def name_of(legend: str, labels: dict[str, str]) -> str:
    """Return the name of a series, with the labels put in."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), legend).strip()


def written(value: float, defaults: dict[str, Any]) -> str:
    """Return a value as it is shown: a text for it, or a number with its unit."""
    mapped = _mapping(value, defaults)
    if mapped is not None:
        return str(mapped["text"])
    if math.isnan(value):
        return "–"  # noqa: RUF001 - what Grafana shows
    decimals = defaults.get("decimals")
    return _UNITS.get(defaults["unit"], _plain)(value, decimals)


def colour_of(value: float, defaults: dict[str, Any]) -> str:
    """Return a value's colour, by its text or by the steps."""
    mapped = _mapping(value, defaults)
    if mapped is not None:
        return COLOURS[mapped["color"]]
    found = COLOURS["blue"]
    for step in defaults["thresholds"]["steps"]:
        if step["value"] is None or value >= step["value"]:
            found = COLOURS[step["color"]]
    return found


def _mapping(value: float, defaults: dict[str, Any]) -> dict[str, Any] | None:
    for mapping in defaults["mappings"]:
        found: dict[str, Any] | None = mapping["options"].get(f"{value:g}")
        if found is not None:
            return found
    return None


def _plain(value: float, decimals: int | None) -> str:
    if decimals is None:
        return f"{value:.3g}"
    return f"{value:.{decimals}f}"


def _share(value: float, decimals: int | None) -> str:
    return f"{value * 100:.{1 if decimals is None else decimals}f}%"


def _seconds(value: float, _decimals: int | None) -> str:
    size = abs(value)
    for least, unit, name in ((3600, 3600, "h"), (60, 60, "min"), (1, 1, "s"), (1e-3, 1e-3, "ms")):
        if size >= least:
            return f"{value / unit:.3g} {name}"
    return f"{value * 1e6:.3g} µs" if size else "0 s"


def _bytes(value: float, _decimals: int | None) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.0f} B"


_UNITS: dict[str, Callable[[float, int | None], str]] = {
    "s": _seconds,
    "percentunit": _share,
    "bytes": _bytes,
    "reqps": lambda value, _: f"{value:.3g} req/s",
    "cps": lambda value, _: f"{value:.3g} c/s",
}
