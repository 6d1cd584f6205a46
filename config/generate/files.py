"""Every generated file, by its path in the repository."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from config.generate.dashboards import dashboards
from config.generate.kubernetes import prometheus_rule
from config.generate.rules import alert_rules, recording_rules
from config.generate.thresholds import Thresholds, load

REPOSITORY = Path(__file__).parents[2]
THRESHOLDS = REPOSITORY / "config" / "prometheus" / "thresholds.toml"


def rule_files(thresholds: Thresholds) -> Mapping[str, str]:
    """Return what Prometheus loads, by file name."""
    return {
        "recording.rules.yml": recording_rules(thresholds),
        "alerts.rules.yml": alert_rules(thresholds),
    }


def generated_files() -> Mapping[Path, str]:
    """Return the content of every generated file by its path.

    Raises:
        ValueError: A threshold is missing, unknown, or not of its kind.
    """
    thresholds = load(THRESHOLDS)
    rules = rule_files(thresholds)
    folder = REPOSITORY / "config" / "prometheus" / "rules"
    kubernetes = REPOSITORY / "config" / "kubernetes" / "prometheus-rule.yml"
    grafana = REPOSITORY / "grafana" / "dashboards"
    return {
        **{folder / name: content for name, content in rules.items()},
        kubernetes: prometheus_rule(rules),
        **{grafana / name: content for name, content in dashboards(thresholds).items()},
    }
