"""`python -m tests.benchmarks`: what the proxy costs in CPU time, next to nginx.

Clients, proxy and upstream are processes of their own on this machine; the proxy's CPU time is
divided by the events or requests it passed on in that time. Every repeat measures every way to the
upstream once, in random order, each with a fresh proxy, since the machine's mood changes.
"""

import argparse
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.benchmarks.errors import BenchmarkError
from tests.benchmarks.measure import Bench
from tests.benchmarks.report import as_json, markdown, method, table, verdicts
from tests.benchmarks.sample import Plan, Sample
from tests.benchmarks.summary import Summary
from tests.benchmarks.targets import SPECMETER_COMMAND, open_upstream


def main() -> None:
    """Run the benchmark as the command line says."""
    arguments = _arguments()
    plan = Plan(
        repeats=arguments.repeats,
        seconds=arguments.seconds,
        requests=arguments.requests,
    )
    ways = ["direct", "nginx"]
    if arguments.with_naive:
        ways.append("naive")
    if not arguments.without_specmeter:
        ways.append("specmeter")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is stopped
    try:
        summary = Summary(plan, _run(plan, ways, arguments.specmeter_command))
    except BenchmarkError as error:
        sys.exit(f"benchmark failed: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    _show(summary)
    if arguments.json:
        arguments.json.write_text(as_json(summary))
    if arguments.markdown:
        arguments.markdown.write_text(markdown(summary))


def _arguments() -> argparse.Namespace:
    defaults = Plan()
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="CPU time of specmeter and of nginx per streamed event and per request.",
    )
    add = parser.add_argument
    add("--repeats", type=_positive(int), default=defaults.repeats, metavar="N")
    add("--seconds", type=_positive(float), default=defaults.seconds, help="of streaming, each")
    add("--requests", type=_positive(int), default=defaults.requests, help="not streamed, each")
    add("--with-naive", action="store_true", help="measure a plain aiohttp proxy as well")
    add("--without-specmeter", action="store_true", help="measure only the others")
    add(
        "--specmeter-command",
        default=SPECMETER_COMMAND,
        metavar="COMMAND",
        help="how to start specmeter; {python}, {upstream}, {listen}, {admin} are filled in",
    )
    add("--json", type=Path, metavar="FILE", help="write everything found")
    add("--markdown", type=Path, metavar="FILE", help="write the table")
    return parser.parse_args()


def _positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"{text} is not positive")
        return value

    return number


def _run(plan: Plan, ways: list[str], specmeter: str) -> list[Sample]:
    """Measure every way in every repeat."""
    samples = []
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with (
        TemporaryDirectory(prefix="specmeter-benchmark-") as folder,
        open_upstream(plan.rate, Path(folder) / "upstream.log") as upstream,
        Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar,
    ):
        task = bar.add_task("", total=plan.repeats * len(ways))
        bench = Bench(plan, upstream, specmeter, lambda text: bar.update(task, description=text))
        for repeat in range(plan.repeats):
            for way in random.sample(ways, len(ways)):
                samples.append(bench.measure(way, repeat))
                bar.advance(task)
    return sorted(samples, key=lambda sample: (ways.index(sample.way), sample.repeat))


def _show(summary: Summary) -> None:
    console = Console()
    console.print(table(summary))
    console.print(method(summary), style="dim")
    for verdict in verdicts(summary):
        console.print(verdict, style="bold")
    for fault in summary.faults():
        console.print(fault, style="yellow")


if __name__ == "__main__":
    main()
