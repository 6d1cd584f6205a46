"""The Prometheus rules as the Prometheus operator's PrometheusRule."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

_HEAD = """\
# Written by `make generate` from config/prometheus/rules/: the same groups.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: specmeter
  labels:
    app.kubernetes.io/name: specmeter
    app.kubernetes.io/component: proxy
spec:
  groups:
"""

_GROUPS = "groups:\n"


def prometheus_rule(rule_files: Mapping[str, str]) -> str:
    """Return the manifest that holds the groups of all rule files."""
    groups = (content.split(_GROUPS, maxsplit=1)[1] for content in rule_files.values())
    return _HEAD + textwrap.indent("\n".join(groups), "  ")
