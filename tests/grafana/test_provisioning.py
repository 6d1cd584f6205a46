"""What Grafana reads at its start."""

from typing import Any

import yaml

from tests.grafana.files import DASHBOARD_FILES, GRAFANA
from tests.programs import REPOSITORY


def _read(path: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((REPOSITORY / path).read_text(encoding="utf-8"))
    return read


def test_dashboards_are_found_where_they_are_mounted() -> None:
    """The provider's path is what docker-compose.yml mounts the dashboards to."""
    (provider,) = _read("grafana/provisioning/dashboards/specmeter.yml")["providers"]
    assert (provider["type"], provider["allowUiUpdates"]) == ("file", False)
    mounts = _read("docker-compose.yml")["services"]["grafana"]["volumes"]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in mounts
    assert DASHBOARD_FILES


def test_the_data_source_is_the_prometheus_that_scrapes() -> None:
    """Address and scrape interval are those of docker-compose.yml and prometheus.yml."""
    sources = _read("grafana/provisioning/datasources/prometheus.yml")["datasources"]
    by_type = {one["type"]: one for one in sources}
    prometheus = by_type["prometheus"]
    assert prometheus["url"] == "http://prometheus:9090"
    assert prometheus["isDefault"] is True
    scrapes = _read("config/prometheus/prometheus.yml")["global"]["scrape_interval"]
    assert prometheus["jsonData"]["timeInterval"] == scrapes
    assert prometheus["jsonData"]["alertmanagerUid"] == by_type["alertmanager"]["uid"]


def test_nothing_else_is_provisioned() -> None:
    """Prometheus' rules are the one source of alerts."""
    files = {path.name for path in (GRAFANA / "provisioning").rglob("*.yml")}
    assert files == {"prometheus.yml", "specmeter.yml"}
