"""config/prometheus/thresholds.toml, read and checked."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import msgspec

Duration = Annotated[str, msgspec.Meta(pattern="^[1-9][0-9]*(ms|s|m|h|d)$")]
"""One of Prometheus, such as `10m`."""

Text = Annotated[str, msgspec.Meta(pattern='^[^"\\\\\\n]+$')]
Count = Annotated[int, msgspec.Meta(ge=1)]
Number = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the file holds; the file says what each means."""

    grafana: Text
    runbooks: Text
    proxy_job: Text

    speedup_floor: Number
    speedup_completions: Count
    slower_for: Duration
    slower_keep: Duration
    not_paying_for: Duration

    stopped_window: Duration
    stopped_completions: Count
    stopped_for: Duration
    collapsed_share_of_week: Share
    collapsed_acceptance: Share
    collapsed_drafted_tokens: Count
    collapsed_for: Duration

    inconsistent_share: Share
    inconsistent_for: Duration
    metered_share: Share
    numbers_completions: Count
    blind_for: Duration
    baseline_days: Count
    stale_for: Duration
    diverged_share: Share
    diverged_checks: Count
    diverged_for: Duration

    upstream_down_for: Duration
    proxy_down_for: Duration

    rules_every: Duration
    slow_rules_every: Duration


def load(path: Path) -> Thresholds:
    """Read the file.

    Raises:
        ValueError: It is no TOML, or a threshold is missing, unknown, or not of its kind.
        OSError: It cannot be read.
    """
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> Thresholds:
    """Read what a file holds.

    Raises:
        ValueError: It is no TOML, or a threshold is missing, unknown, or not of its kind.
    """
    try:
        return msgspec.convert(tomllib.loads(text), Thresholds)
    except msgspec.ValidationError as error:
        raise ValueError(f"{error}; see the comments in the file") from None
