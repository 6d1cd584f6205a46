"""Grafana's dashboards, one module each."""

from collections.abc import Mapping

from config.generate.dashboards.paying import paying
from config.generate.dashboards.proxy import proxy
from config.generate.dashboards.why import why
from config.generate.thresholds import Thresholds


def dashboards(thresholds: Thresholds) -> Mapping[str, str]:
    """Return the dashboards by file name."""
    return {
        "is-it-paying.json": paying(thresholds).text(),
        "why.json": why(thresholds).text(),
        "the-proxy-itself.json": proxy(thresholds).text(),
    }
