"""Programs that tests run, and what they say."""

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]

PACKAGES = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "amtool": "prometheus-alertmanager",
}
"""The Debian package of each program."""


def program(name: str) -> str:
    """Give the path of a program; the test fails, with the remedy, if it is not there."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not installed: apt-get install {PACKAGES[name]}")
    return found


def run(name: str, *arguments: str | Path, stdin: str = "") -> tuple[int, str]:
    """Run a program of `PACKAGES` in the repository, and give its exit code and all it says."""
    done = subprocess.run(
        [program(name), *map(str, arguments)],
        cwd=REPOSITORY,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout
