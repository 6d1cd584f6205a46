"""`python -m tests.soak`: mixed traffic with faults; counters have to match what clients saw."""

from __future__ import annotations

import argparse
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tests.soak.report import as_json, markdown
from tests.soak.run import Plan, Result, Run


def main() -> int:
    """Run as the command line says; return 1 if anything was wrong."""
    options = _options()
    plan = Plan(
        *(options.seconds, options.seed, options.clients, options.kill_every, options.workers)
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is stopped
    console = Console(stderr=True)
    console.print(f"seed {plan.seed}")
    columns = (TextColumn("{task.completed:.0f} s"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=console) as bar:
        task = bar.add_task("starting", total=plan.seconds)

        def tell(seconds: float, what: str) -> None:
            bar.update(task, completed=seconds, description=what)

        try:
            with _folder(options.logs) as folder:
                result = uvloop.run(Run(plan, tell, folder).go())
        except KeyboardInterrupt:
            return 130
    _report(result, options)
    return 0 if result.passed else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    add = parser.add_argument
    add("--seconds", type=float, default=3600.0, help="of load (3600)")
    add("--seed", type=int, default=random.SystemRandom().getrandbits(32), help="of the traffic")
    add("--clients", type=int, default=24, help="at a time (24)")
    add("--kill-every", type=float, default=20.0, help="seconds between killed upstreams (20)")
    add("--workers", type=int, default=1, help="of the proxy (1)")
    add("--logs", type=Path, metavar="FOLDER", help="keep the processes' logs")
    add("--markdown", type=Path, metavar="FILE", help="write the report")
    add("--json", type=Path, metavar="FILE", help="write everything found")
    return parser.parse_args()


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with TemporaryDirectory(prefix="specmeter-soak-") as name:
        yield Path(name)


def _report(result: Result, options: argparse.Namespace) -> None:
    text = markdown(result)
    Console().print(Markdown(text))
    for path, content in ((options.markdown, text), (options.json, as_json(result))):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)


if __name__ == "__main__":
    sys.exit(main())
