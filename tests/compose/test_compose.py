"""docker-compose.yml, as far as that can be told without starting containers."""

import json
import re
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from specmeter.config import load
from tests.compose.files import (
    COMPOSE,
    DOCUMENT,
    PROFILES,
    SERVICES,
    bind_mounts,
    example,
    filled,
    proxy_settings,
)
from tests.programs import REPOSITORY

each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=list(SERVICES))
each_profile = pytest.mark.parametrize("profile", PROFILES)

ONCE = "models"
"""The one that prepares a volume, as root, and ends."""


def test_it_keeps_to_the_compose_specification() -> None:
    """The specification's own schema finds nothing."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "check_jsonschema"),
            *("--builtin-schema", "vendor.compose-spec", str(COMPOSE)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_has_a_name_and_no_version() -> None:
    """The version is obsolete, and the name keeps volumes where they are."""
    assert DOCUMENT["name"] == "specmeter"
    assert "version" not in DOCUMENT


@each_service
def test_images_are_pinned(service: dict[str, Any]) -> None:
    """Each has a tag with a number, but for the one that is built here."""
    _, _, tag = service["image"].rpartition(":")
    assert re.search(r"\d", tag) or service["image"] == "specmeter:local"
    assert "latest" not in tag


@each_service
def test_services_may_do_no_more_than_they_must(service: dict[str, Any]) -> None:
    """Read-only, no capabilities, no more privileges, not root, limited memory and logs."""
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["logging"]["options"]["max-size"]
    assert "privileged" not in service
    if service is SERVICES[ONCE]:
        assert (service["network_mode"], service["cap_add"]) == ("none", ["CHOWN"])
        return
    assert "cap_add" not in service
    assert int(service["user"].split(":")[0]) > 0
    assert "mem_limit" in service or "deploy" in service
    assert service["healthcheck"]["test"][0] == "CMD"
    assert service["healthcheck"]["start_period"]


@each_service
def test_ports_are_published_on_loopback_only(service: dict[str, Any]) -> None:
    """Nobody else on the network reaches them."""
    for port in service.get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", filled(port))


@each_profile
@each_service
def test_what_is_mounted_is_there_and_is_not_written(service: dict[str, Any], profile: str) -> None:
    """Folders of the repository are mounted read-only; the rest are named volumes."""
    for volume in service.get("volumes", []):
        source = filled(volume, profile).split(":")[0]
        if source.startswith("."):
            assert volume.endswith(":ro")
        else:
            assert source in DOCUMENT["volumes"]
    for path in bind_mounts(service, profile):
        assert path.exists()


@each_service
def test_what_is_waited_for_starts_too(service: dict[str, Any]) -> None:
    """In every profile in which the one that waits does, and has a health to wait for."""
    for name, wait in service.get("depends_on", {}).items():
        other = SERVICES[name]
        assert set(service.get("profiles", PROFILES)) <= set(other.get("profiles", PROFILES))
        if name == ONCE:
            assert wait["condition"] == "service_completed_successfully"
        else:
            assert wait["condition"] == "service_healthy"
            assert "healthcheck" in other


def test_every_variable_is_in_the_example() -> None:
    """And nothing else is; defaults are the same in both."""
    text = COMPOSE.read_text(encoding="utf-8")
    used = dict(re.findall(r"\$\{(\w+)(?::[-?]([^}]*))?\}", text))
    values = example()
    assert used.keys() == values.keys()
    for name, default in used.items():
        assert default in {values[name], ""} or name == "COMPOSE_PROFILES"
    assert values["COMPOSE_PROFILES"] in PROFILES
    assert json.loads(values["VLLM_SPECULATIVE_CONFIG"])["method"] == "ngram"


def test_without_an_env_file_it_says_what_to_do() -> None:
    """The variable that has to be set comes with the remedy."""
    assert "COMPOSE_PROFILES:?is not set: cp .env.example .env" in COMPOSE.read_text("utf-8")


@each_profile
def test_the_proxy_accepts_its_configuration(profile: str) -> None:
    """And listens where docker publishes it and where its health is asked for."""
    settings = load(REPOSITORY / f"config/compose/{profile}.toml", {}, {}).settings
    ports = [one.rsplit(":", 1)[1] for one in SERVICES["specmeter"]["ports"]]
    assert [settings.listen, settings.admin] == [f"0.0.0.0:{port}" for port in ports]
    stop = SERVICES["specmeter"]["stop_grace_period"]
    assert settings.drain_seconds < float(stop.removesuffix("s"))
    assert settings.state_file.startswith("/var/lib/specmeter/")
    assert "specmeter-state:/var/lib/specmeter" in SERVICES["specmeter"]["volumes"]


@each_profile
def test_upstreams_are_services_of_the_profile(profile: str) -> None:
    """Each address is a service that starts in it, at the port it listens on."""
    for upstream in proxy_settings(profile)["upstream"]:
        url = urlsplit(upstream["url"])
        if url.hostname == "host.docker.internal":
            assert profile == "own"
            assert "host.docker.internal:host-gateway" in SERVICES["specmeter"]["extra_hosts"]
            continue
        service = SERVICES[url.hostname or ""]
        assert profile in service["profiles"]
        assert service["healthcheck"]["test"][-1] == f"http://127.0.0.1:{url.port}/health"


def test_prometheus_scrapes_and_alerts_services_that_exist() -> None:
    """At the ports that they listen on."""
    config = yaml.safe_load((REPOSITORY / "config/prometheus/prometheus.yml").read_text("utf-8"))
    targets = {
        target
        for job in (*config["scrape_configs"], *config["alerting"]["alertmanagers"])
        for static in job.get("static_configs", [])
        for target in static["targets"]
    }
    ports = {
        name: [filled(port).rsplit(":", 1)[1] for port in service.get("ports", [])]
        for name, service in SERVICES.items()
    }
    for target in targets:
        name, port = target.split(":")
        assert port in ports["prometheus" if name == "localhost" else name]
    assert {target.split(":")[0] for target in targets} == {
        *("specmeter", "alertmanager", "localhost")
    }


def test_the_plain_server_is_the_other_one_without_speculation() -> None:
    """Nothing else differs, or the comparison would be of something else."""
    plain, other = SERVICES["llama-plain"], SERVICES["llama"]
    speculates = {flag for flag in other["command"] if "spec" in flag}
    assert len(speculates) == 1
    assert set(plain["command"]) == set(other["command"]) - speculates
    assert {**plain, "command": 0, "depends_on": 0} == {**other, "command": 0, "depends_on": 0}
