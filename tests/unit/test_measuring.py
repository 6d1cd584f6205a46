"""What the measuring commands share, and that their arithmetic stands on its own."""

import os
import pty
import subprocess
import sys

import pytest

from specmeter.measuring.progress import duration
from tests.command import ROOT

_PURE = (
    *("compare.verdict", "compare.samples", "compare.results", "compare.lengths", "compare.plan"),
    *("compare.findings", "compare.report", "compare.text", "compare.prompts"),
    *("baseline.plan", "baseline.prompts", "baseline.results", "baseline.report"),
)


def test_the_arithmetic_needs_no_server() -> None:
    """Importing it brings in neither aiohttp nor prometheus_client."""
    code = (
        f"import {', '.join(f'specmeter.{name}' for name in _PURE)}, sys; "
        "print({'aiohttp', 'prometheus_client'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (119.4, "119 s"), (120, "2 min"), (7000, "117 min"), (7200, "2.0 h")],
)
def test_time_left_is_said_as_people_say_it(seconds: float, said: str) -> None:
    """In seconds, minutes or hours."""
    assert duration(seconds) == said


def test_a_terminal_gets_a_bar_with_the_time_left() -> None:
    """And no line for each part; the bar is gone at the end."""
    code = (
        "import time\n"
        "from specmeter.measuring.progress import MeasuringProgress\n"
        "with MeasuringProgress([1.0] * 4) as progress:\n"
        "    for _ in range(4):\n"
        "        progress.begin('one')\n"
        "        time.sleep(0.2)\n"
        "        progress.done(1.0, 'done')\n"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # how a terminal's other end tells that it is closed
        pass
    finally:
        os.close(ours)
        assert process.wait(30) == 0
    assert b"left" in shown
    assert b"/4" in shown
    assert b"1 of 4" not in shown
