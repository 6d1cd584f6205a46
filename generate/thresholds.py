"""config/prometheus/thresholds.toml, read and checked."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

_DURATION = re.compile(r"([1-9][0-9]*)(ms|s|m|h|d|w)")


class Duration(str):
    """One of Prometheus, such as `10m`."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What the file holds; the file says what each means. Shares are 0 to 1."""

    grafana: str
    runbooks: str
    proxy_job: str

    speedup_floor: float
    speedup_completions: int
    slower_for: Duration
    slower_keep: Duration
    not_paying_for: Duration

    stopped_window: Duration
    stopped_completions: int
    stopped_for: Duration
    collapsed_share_of_week: float
    collapsed_acceptance: float
    collapsed_drafted_tokens: int
    collapsed_for: Duration

    inconsistent_share: float
    inconsistent_for: Duration
    metered_share: float
    numbers_completions: int
    blind_for: Duration
    baseline_days: int
    stale_for: Duration
    diverged_share: float
    diverged_checks: int
    diverged_for: Duration

    upstream_down_for: Duration
    proxy_down_for: Duration

    rules_every: Duration
    slow_rules_every: Duration


def load(path: Path) -> Thresholds:
    """Read the file.

    Raises:
        ValueError: It is no TOML, or an option is missing, unknown, or not of its kind.
        OSError: It cannot be read.
    """
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> Thresholds:
    """Read what a file holds.

    Raises:
        ValueError: It is no TOML, or an option is missing, unknown, or not of its kind.
    """
    given = tomllib.loads(text)
    kinds = {field.name: str(field.type) for field in dataclasses.fields(Thresholds)}
    if unknown := sorted(given.keys() - kinds.keys()):
        raise ValueError(f"{unknown[0]} is no threshold: take it out, or look for a mistyped name")
    if missing := sorted(kinds.keys() - given.keys()):
        raise ValueError(f"{missing[0]} is missing: see the file in the repository")
    return Thresholds(**{name: _checked(name, given[name], kinds[name]) for name in kinds})


def _checked(name: str, value: object, kind: str) -> str | int | float | Duration:
    if kind == "Duration":
        if isinstance(value, str) and _DURATION.fullmatch(value):
            return Duration(value)
        raise ValueError(f'{name} = {value!r} is no duration: write it as "10m"')
    if kind == "str":
        if isinstance(value, str) and value.isprintable() and '"' not in value:
            return value
        raise ValueError(f"{name} = {value!r} is no text without quotes")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise ValueError(f"{name} = {value!r} is no number of 0 or more")
    if kind == "int" and not isinstance(value, int):
        raise ValueError(f"{name} = {value!r} is no whole number")
    return value
