"""`python -m tests.benchmarks.server_log`: how fast `specmeter log` reads, and how much memory.

The log is made of the captured ones, again and again: nothing but requests, a line out of two of
which has numbers, so that no real log is denser. Each reading is a process of its own; its CPU
time counts, since other programs run on this machine too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.benchmarks.summary import Spread

CAPTURES = Path(__file__).parents[1] / "captures" / "llama_cpp"
TARGET = 50.0  # MB per second of one core

_MEGABYTE = 1_000_000
_LOOK_SECONDS = 0.02
_PIECE = 16 * _MEGABYTE


@dataclass(frozen=True)
class Sample:
    """One reading.

    Attributes:
        form: how the log's lines are wrapped.
        megabytes: of the log.
        cpu_seconds: of the process, its start included.
        wall_seconds: from its start to its end.
        peak_megabytes: the most memory that it held.
    """

    form: str
    megabytes: float
    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float


def main() -> None:
    """Run the benchmark as the command line says; exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.server_log")
    parser.add_argument("--megabytes", type=int, default=300, help="default: %(default)s")
    parser.add_argument("--repeats", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--all-forms", action="store_true", help="wrapped lines too")
    arguments = parser.parse_args()
    forms = dict(_FORMS) if arguments.all_forms else {"as captured": _FORMS["as captured"]}
    sizes = (arguments.megabytes // 10, arguments.megabytes)
    samples: list[Sample] = []
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with TemporaryDirectory() as folder, progress:
        task = progress.add_task("reading", total=len(forms) * (1 + arguments.repeats))
        path = Path(folder) / "server.log"
        for form, wrap in forms.items():
            for size, repeats in zip(sizes, (1, arguments.repeats), strict=True):
                progress.update(task, description=f"{form}, {size} MB")
                _write(path, wrap, size)
                for _ in range(repeats):
                    samples.append(_read(form, path))
                    progress.advance(task)
    sys.exit(0 if _show(samples, sizes, arguments.repeats) else 1)


def _write(path: Path, wrap: Callable[[str], str], megabytes: int) -> None:
    """Write a log of that size."""
    piece = "".join(f"{wrap(line)}\n" for line in _lines()).encode()
    piece *= max(1, _PIECE // len(piece))
    with path.open("wb") as log:
        while log.tell() < megabytes * _MEGABYTE:
            log.write(piece[: megabytes * _MEGABYTE - log.tell()])


def _lines() -> Iterator[str]:
    for path in sorted(CAPTURES.glob("*/server.log")):
        yield from path.read_text(encoding="utf-8").splitlines()


def _read(form: str, path: Path) -> Sample:
    command = [sys.executable, "-m", "specmeter", "log", str(path)]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as reader:
        peak = 0.0
        while not (ended := os.wait4(reader.pid, os.WNOHANG))[0]:
            peak = _peak(reader.pid) or peak
            time.sleep(_LOOK_SECONDS)
        wall = time.perf_counter() - began
        _, status, usage = ended
        reader.returncode = os.waitstatus_to_exitcode(status)
    if reader.returncode:
        sys.exit(f"benchmark failed: {' '.join(command)} ended with {reader.returncode}")
    return Sample(
        form=form,
        megabytes=path.stat().st_size / _MEGABYTE,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        wall_seconds=wall,
        peak_megabytes=peak,
    )


def _peak(process: int) -> float:
    """Return the most memory a process has held; what `wait4` says includes its parent's."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(found[1]) * 1024 / _MEGABYTE if found else 0.0


def _show(samples: list[Sample], sizes: tuple[int, int], repeats: int) -> bool:
    """Print what was measured; tell whether the target is met for the form that has one."""
    small, large = sizes
    print(f"{large} MB, {repeats} readings each: median (lowest to highest)")
    is_met = True
    for form in dict.fromkeys(sample.form for sample in samples):
        mine = [sample for sample in samples if sample.form == form]
        full = [sample for sample in mine if sample.megabytes > (small + large) / 2]
        core = Spread.of([sample.megabytes / sample.cpu_seconds for sample in full])
        wall = Spread.of([sample.megabytes / sample.wall_seconds for sample in full])
        peak = Spread.of([sample.peak_megabytes for sample in full])
        print(
            f"{form}: {_spread(core)} MB per CPU second, {_spread(wall)} per second, "
            f"{_spread(peak)} MB of memory at most ({mine[0].peak_megabytes:.0f} for {small} MB)"
        )
        if form == "as captured":
            is_met = core.median >= TARGET
            print(f"target: {TARGET:.0f} MB per CPU second: {'met' if is_met else 'MISSED'}")
    return is_met


def _spread(spread: Spread) -> str:
    return f"{spread.median:.0f} ({spread.low:.0f} to {spread.high:.0f})"


_FORMS: dict[str, Callable[[str], str]] = {
    "as captured": lambda line: line,
    "docker compose": lambda line: f"llama-1  | {line}",
    "journald": lambda line: f"Nov 29 10:00:00 host llama-server[123]: {line}",
    "llama.cpp --log-jsonl": lambda line: json.dumps(
        {"type": "log", "time": 123456789, "level": "info", "msg": f"{line[15:]}\n"},
        separators=(",", ":"),
    ),
}


if __name__ == "__main__":
    main()
