"""Kubernetes manifests: several replicas, scraped, with the same rules."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from config.generate.files import THRESHOLDS
from config.generate.thresholds import load as load_thresholds
from specmeter.config import load
from tests.programs import REPOSITORY

FOLDER = REPOSITORY / "config" / "kubernetes"


def manifests(name: str) -> dict[str, dict[str, Any]]:
    """Return the manifests of a file by their kind."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    return {one["kind"]: one for one in yaml.safe_load_all(text)}


PROXY = manifests("specmeter.yml")


def test_they_keep_to_kubernetes_own_schema() -> None:
    """Strictly: no field that it does not know."""
    validate = Path(sys.executable).with_name("kubernetes-validate")
    done = subprocess.run(
        [str(validate), "--strict", str(FOLDER / "specmeter.yml")],
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert said.count("passed") == len(PROXY) == 4


def test_the_rule_holds_the_groups_that_prometheus_loads() -> None:
    """Each group of each file, in order."""
    rule = manifests("prometheus-rule.yml")["PrometheusRule"]
    folder = REPOSITORY / "config" / "prometheus" / "rules"
    groups = [
        group
        for name in ("recording.rules.yml", "alerts.rules.yml")
        for group in yaml.safe_load((folder / name).read_text(encoding="utf-8"))["groups"]
    ]
    assert rule["spec"] == {"groups": groups}
    assert {path.name for path in folder.iterdir()} == {"recording.rules.yml", "alerts.rules.yml"}


def test_every_replica_is_scraped_as_the_job_that_is_watched() -> None:
    """Monitor, service and pods agree on labels and ports; the job is called as the service."""
    monitor = manifests("service-monitor.yml")["ServiceMonitor"]["spec"]
    service, deployment = PROXY["Service"], PROXY["Deployment"]["spec"]
    labels = service["metadata"]["labels"]
    assert monitor["selector"]["matchLabels"] == labels == service["spec"]["selector"]
    assert deployment["template"]["metadata"]["labels"] == labels
    assert deployment["replicas"] > 1
    ports = {one["name"] for one in service["spec"]["ports"]}
    assert [endpoint["port"] for endpoint in monitor["endpoints"]] == ["metrics"]
    (container,) = deployment["template"]["spec"]["containers"]
    assert {one["name"] for one in container["ports"]} == ports == {"data", "metrics"}
    assert service["metadata"]["name"] == load_thresholds(THRESHOLDS).proxy_job


def test_the_proxy_accepts_its_configuration(tmp_path: Path) -> None:
    """And listens on the container's ports; there is time for it to drain."""
    (text,) = PROXY["ConfigMap"]["data"].values()
    (tmp_path / "specmeter.toml").write_text(text)
    settings = load(tmp_path / "specmeter.toml", {}, {}).settings
    pod = PROXY["Deployment"]["spec"]["template"]["spec"]
    ports = {one["name"]: one["containerPort"] for one in pod["containers"][0]["ports"]}
    assert settings.listen == f"0.0.0.0:{ports['data']}"
    assert settings.admin == f"0.0.0.0:{ports['metrics']}"
    assert settings.drain_seconds < pod["terminationGracePeriodSeconds"]


def test_pods_may_do_no_more_than_they_must() -> None:
    """Not root, read-only, no capabilities, no token."""
    pod = PROXY["Deployment"]["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    allowed = pod["containers"][0]["securityContext"]
    assert allowed["readOnlyRootFilesystem"] is True
    assert allowed["allowPrivilegeEscalation"] is False
    assert allowed["capabilities"] == {"drop": ["ALL"]}
