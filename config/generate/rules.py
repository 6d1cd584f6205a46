"""Prometheus rules: the templates in `rules/`, with thresholds and windows put in."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from config.generate.thresholds import Thresholds

_TEMPLATES = Path(__file__).parent / "rules"

_HEAD = """\
# Written by `make generate` from config/generate/rules/{sources} and thresholds.toml: change those.
groups:
"""


def recording_rules(thresholds: Thresholds) -> str:
    """Return the file of recording rules."""
    groups = [
        *(_filled("drafting", thresholds, window=window) for window in ("5m", "1h")),
        *(
            _filled("speedup", thresholds, window=window, every=every)
            for window, every in (
                ("5m", thresholds.rules_every),
                ("1h", thresholds.rules_every),
                ("1d", thresholds.slow_rules_every),
            )
        ),
        _filled("week", thresholds),
    ]
    return _HEAD.format(sources="{drafting,speedup,week}.yml") + "\n".join(groups)


def alert_rules(thresholds: Thresholds) -> str:
    """Return the file of alerts."""
    return _HEAD.format(sources="alerts.yml") + _filled("alerts", thresholds)


def _filled(template: str, thresholds: Thresholds, **more: str) -> str:
    """Return a template with a value in place of each `@name@`.

    Raises:
        KeyError: There is no value of that name.
    """
    values = {**msgspec.structs.asdict(thresholds), **more}
    text = (_TEMPLATES / f"{template}.yml").read_text(encoding="utf-8")
    return re.sub("@([a-z_]+)@", lambda found: str(values[found[1]]), text)
