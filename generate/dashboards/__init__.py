"""Grafana's dashboards."""

from collections.abc import Mapping

from generate.thresholds import Thresholds


def dashboards(thresholds: Thresholds) -> Mapping[str, str]:
    """Return the dashboards by file name."""
    return {}
