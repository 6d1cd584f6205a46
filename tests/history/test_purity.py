"""The past is arithmetic: it needs no server and no metrics library."""

import subprocess
import sys
from pathlib import Path

import specmeter.history
import specmeter.tally


def test_no_module_needs_a_server_or_a_metrics_library() -> None:
    """Importing all of them brings in neither aiohttp nor prometheus_client."""
    modules = [
        f"{package.__name__}.{path.stem}"
        for package in (specmeter.history, specmeter.tally)
        for path in sorted(Path(next(iter(package.__path__))).glob("[a-z]*.py"))
    ]
    assert {"specmeter.history.timeline", "specmeter.tally.counts"} < set(modules)
    code = (
        f"import {', '.join(modules)}, sys; "
        "print({'aiohttp', 'prometheus_client'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
