"""`python -m tests.benchmarks.suite`: everything that is measured of the proxy, in one report."""

import argparse
import resource
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.benchmarks.errors import BenchmarkError, ProcessError
from tests.benchmarks.others import installed
from tests.benchmarks.suite import cost, growth, limit, memory, must_hold, startup, workers
from tests.benchmarks.suite.lab import HAPROXY, LITELLM, NOT_METERED, OWN, TEN_MODELS, Lab
from tests.benchmarks.suite.report import Report
from tests.benchmarks.suite.results import BASE, DIRECT, Section
from tests.benchmarks.suite.scale import FULL, QUICK, RATE, Scale
from tests.benchmarks.targets import SPECMETER_COMMAND, open_upstream

Part = Callable[[Lab], Section]

PARTS: dict[str, tuple[Part, ...]] = {
    "cost": (cost.measure,),
    "memory": (memory.measure,),
    "startup": (startup.measure,),
    "growth": (growth.by_event_size, growth.by_streams, growth.by_body_size, growth.by_upstreams),
    "workers": (workers.measure,),
    "limit": (limit.measure,),
}


def main() -> None:
    """Run the parts that the command line names."""
    options = _options()
    scale = FULL if options.full else QUICK
    _allow_many_connections()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is stopped
    began = time.monotonic()
    try:
        lab, sections = _run(options, scale, _parts(options, scale))
    except BenchmarkError as error:
        sys.exit(f"benchmark failed: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    report = Report(lab, sections, time.monotonic() - began)
    Console().print(Markdown(report.markdown()))
    for path, text in ((options.markdown, report.markdown()), (options.json, report.as_json())):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    sys.exit(1 if any(section.failures for section in sections) else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.suite",
        description="What specmeter costs, beside nginx, haproxy and LiteLLM.",
    )
    add = parser.add_argument
    add("--full", action="store_true", help="everything, about an hour; else about three minutes")
    add("--only", action="append", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    add("--repeats", type=int, metavar="N", help="of what is compared")
    add(
        "--must-hold",
        action="store_true",
        help="only 1000 streams, for minutes, and at half of the most that is kept up with",
    )
    add("--must-hold-seconds", type=float, default=300.0, metavar="S", help="(300)")
    add("--with-litellm", type=Path, metavar="VENV", help="a virtual environment that has LiteLLM")
    add(
        "--specmeter-command",
        default=SPECMETER_COMMAND,
        metavar="COMMAND",
        help="how to start specmeter; {python}, {upstream}, {listen}, {admin} are filled in",
    )
    add("--markdown", type=Path, metavar="FILE", help="write the report")
    add("--json", type=Path, metavar="FILE", help="write everything found")
    return parser.parse_args()


def _parts(options: argparse.Namespace, scale: Scale) -> list[Part]:
    if options.must_hold:
        seconds = options.must_hold_seconds
        return [partial(must_hold.measure, seconds=seconds), must_hold.measure_half]
    names = options.only or [name for name in PARTS if name != "limit" or scale.ladder]
    return [part for name in names for part in PARTS[name]]


def _run(options: argparse.Namespace, scale: Scale, parts: list[Part]) -> tuple[Lab, list[Section]]:
    if options.repeats:
        scale = scale.repeated(options.repeats)
    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with (
        TemporaryDirectory(prefix="specmeter-benchmark-") as folder,
        open_upstream(RATE, Path(folder) / "upstream.log") as upstream,
        Progress(*columns, TimeElapsedColumn(), console=console) as bar,
    ):
        task = bar.add_task("", total=len(parts))
        lab = Lab(
            scale,
            upstream,
            _ways(options, console),
            options.specmeter_command,
            options.with_litellm,
            lambda text: bar.update(task, description=text),
        )
        sections = []
        for part in parts:
            sections.append(part(lab))
            bar.advance(task)
    return lab, sections


def _ways(options: argparse.Namespace, console: Console) -> list[str]:
    ways = [DIRECT, BASE, OWN, NOT_METERED, TEN_MODELS]
    try:
        installed(HAPROXY)
        ways.append(HAPROXY)
    except ProcessError as error:
        console.print(f"without haproxy: {error}", style="yellow")
    if options.with_litellm:
        ways.append(LITELLM)
    return ways


def _allow_many_connections() -> None:
    """Let this process and all that it starts have as many connections as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    main()
