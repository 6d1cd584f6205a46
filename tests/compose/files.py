"""docker-compose.yml and what goes with it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from tests.programs import REPOSITORY

COMPOSE = REPOSITORY / "docker-compose.yml"
DOCUMENT: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = DOCUMENT["services"]
PROFILES = ("llama", "vllm", "own")


def example() -> dict[str, str]:
    """Return what .env.example sets."""
    lines = (REPOSITORY / ".env.example").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("=", 1) for line in lines if line and not line.startswith("#"))
    return {name: value.strip("'") for name, value in pairs}


def filled(text: str, profile: str = "llama") -> str:
    """Return a text with the variables of .env.example put in."""
    values = example() | {"COMPOSE_PROFILES": profile}
    return re.sub(r"\$\{(\w+)(?::[-?][^}]*)?\}", lambda found: values[found[1]], text)


def proxy_settings(profile: str) -> dict[str, Any]:
    """Return the proxy's configuration of a profile."""
    return tomllib.loads((REPOSITORY / f"config/compose/{profile}.toml").read_text("utf-8"))


def bind_mounts(service: dict[str, Any], profile: str = "llama") -> dict[Path, str]:
    """Return what of the repository is mounted where."""
    mounts = (filled(one, profile).split(":") for one in service.get("volumes", []))
    return {REPOSITORY / one[0]: one[1] for one in mounts if one[0].startswith(".")}
