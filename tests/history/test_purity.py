"""The past is arithmetic: it needs no server and no metrics library."""

import subprocess
import sys
from pathlib import Path

import specmeter.history


def test_no_module_needs_a_server_or_a_metrics_library() -> None:
    """Importing all of them brings in neither aiohttp nor prometheus_client."""
    folder = Path(next(iter(specmeter.history.__path__)))
    modules = sorted(f"specmeter.history.{path.stem}" for path in folder.glob("[a-z]*.py"))
    assert "specmeter.history.timeline" in modules
    code = (
        f"import {', '.join(modules)}, sys; "
        "print({'aiohttp', 'prometheus_client'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
