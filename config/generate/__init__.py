"""Writes the files in config/ and grafana/ that follow from others: `make generate`.

Rules follow from `rules/` here and `config/prometheus/thresholds.toml`, dashboards from
`dashboards/` here, the Kubernetes rule from the Prometheus ones. What is written is committed, so
that nobody needs this to use it; a test says when it is not current.
"""
