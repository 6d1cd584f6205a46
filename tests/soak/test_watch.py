"""Memory that grew and files that stay open are told."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import pytest

from tests.soak.proxy import ProxyProcess
from tests.soak.watch import SHORT, Rest, Watch

_SOME = 100 * 1024 * 1024


def watched(tmp_path: Path, *rests: Rest) -> Watch:
    """A watch that found this, with ten files open at first."""
    process = Popen([sys.executable, "-c", "input()"], stdin=PIPE, stdout=DEVNULL, text=True)
    with process:
        proxy = ProxyProcess(process, 1, 2, tmp_path / "log")
        assert proxy.resident_bytes() > 0
        assert proxy.open_files() >= 3
        process.communicate("\n")
    return Watch(proxy, files_at_start=10, rests=list(rests))


@pytest.mark.parametrize(
    ("seconds", "grown", "faults"),
    [(SHORT, 1.04, 0), (SHORT, 1.06, 1), (60.0, 1.06, 0), (60.0, 1.16, 1), (SHORT, 0.5, 0)],
)
def test_growth(tmp_path: Path, seconds: float, grown: float, faults: int) -> None:
    """Growth from the first rest to the last is limited, in a short run less strictly."""
    watch = watched(tmp_path, Rest(1.0, _SOME, 10), Rest(seconds, int(_SOME * grown), 10))
    assert len(watch.faults()) == faults


def test_files_that_stay_open(tmp_path: Path) -> None:
    """One file more than before the first request is told, with when it was seen."""
    watch = watched(tmp_path, Rest(1.0, _SOME, 10), Rest(2.0, _SOME, 11))
    (fault,) = watch.faults()
    assert fault.startswith("11 files open at rest after 2 s")


def test_log_is_searched(tmp_path: Path) -> None:
    """What a proxy logs of its own faults is found, and nothing else."""
    watch = watched(tmp_path, Rest(1.0, _SOME, 10))
    watch.proxy.log.write_text("INFO all is well\nTask was destroyed but it is pending!\n")
    assert watch.proxy.troubles() == ["Task was destroyed but it is pending!"]
