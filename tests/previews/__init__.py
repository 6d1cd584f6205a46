"""Pictures of the dashboards for the README, from real data: `make previews`.

Grafana itself cannot be had from a package registry, so its panels are drawn here as it would:
the same queries, names, units, colours and places, from the dashboards' own files.
"""
