"""The run's result as a table in the terminal, as Markdown and as JSON."""

import json
import os
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from tests.benchmarks.errors import ProcessError
from tests.benchmarks.others import installed
from tests.benchmarks.sample import Work
from tests.benchmarks.summary import TARGETS, Spread, Summary
from tests.benchmarks.upstream import ANSWER_SECONDS

_HEADER = ["per", "proxy", "CPU µs", "times nginx", "rate/s"]


def table(summary: Summary) -> Table:
    """The result for the terminal."""
    result = Table(title="CPU time of the proxy: median (least-greatest)", title_justify="left")
    for i, name in enumerate(_HEADER):
        result.add_column(name, justify="right" if i > 1 else "left", no_wrap=True)
    for row in _rows(summary):
        result.add_row(*row)
    return result


def markdown(summary: Summary) -> str:
    """The result for a page."""
    header = [_HEADER, ["---", "---", "---:", "---:", "---:"]]
    lines = ["| " + " | ".join(row) + " |" for row in [*header, *_rows(summary)]]
    notes = [f"* {note}" for note in [*verdicts(summary), method(summary), *summary.faults()]]
    return "\n".join([*lines, "", *notes, ""])


def as_json(summary: Summary) -> str:
    """Everything that was found, for machines."""
    return json.dumps(
        {
            "machine": machine(),
            "plan": asdict(summary.plan),
            "targets": TARGETS,
            "repeats": summary.repeats,
            "results": {
                way: {work: _result(summary, way, work) for work in TARGETS} for way in summary.ways
            },
            "faults": summary.faults(),
            "samples": [asdict(sample) for sample in summary.samples],
        },
        indent=2,
    )


def verdicts(summary: Summary) -> list[str]:
    """Say for each target whether specmeter reaches it; nothing if it was not measured."""
    if "specmeter" not in summary.ways:
        return []
    lines = []
    for work, target in TARGETS.items():
        ratio = summary.ratio("specmeter", work)
        verdict = "reached" if ratio.median <= target else "NOT reached"
        lines.append(
            f"target: at most {target:g} times nginx's CPU time per {work.removesuffix('s')}; "
            f"{verdict}: {_text(ratio, 2)} times",
        )
    return lines


def method(summary: Summary) -> str:
    """Say in one sentence how it was measured."""
    plan = summary.plan
    return (
        f"{len(summary.repeats)} of {plan.repeats} repeats count; "
        f"{plan.streams} streams of {plan.rate:g} events/s for {plan.seconds:g} s; "
        f"{plan.requests} requests of {plan.clients} clients, each answered after "
        f"{ANSWER_SECONDS * 1000:g} ms; "
        f"every byte checked; {', '.join(machine().values())}"
    )


def machine() -> dict[str, str]:
    """What was measured on."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "cpu": f"{os.cpu_count()} of {models[0] if models else platform.machine()}",
        "kernel": f"Linux {platform.release()}",
        "python": f"Python {platform.python_version()}",
    } | {name: version for name in ("nginx", "haproxy") if (version := _version(name))}


def _version(name: str) -> str:
    """What a program says of itself; empty if it is not installed."""
    try:
        command = [installed(name), "-v"]
    except ProcessError:
        return ""
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    first = (said.stdout or said.stderr).partition("\n")[0]
    return first.rpartition(": ")[2].partition(" https:")[0].removeprefix("HAProxy version ")


def _rows(summary: Summary) -> Iterator[list[str]]:
    for work in TARGETS:
        for way in summary.ways:
            cost = ["", ""]
            if way != "direct":
                times = summary.ratio(way, work)
                cost = [
                    _text(summary.microseconds(way, work), 1),
                    "1" if way == "nginx" else _text(times, 2),
                ]
            rate = f"{summary.per_second(way, work).median:.0f}"
            yield [work.removesuffix("s"), way, *cost, rate]


def _result(summary: Summary, way: str, work: Work) -> dict[str, object]:
    rate: dict[str, object] = {"per_second": asdict(summary.per_second(way, work))}
    if way == "direct":
        return rate
    return rate | {
        "cpu_microseconds": asdict(summary.microseconds(way, work)),
        "times_nginx": asdict(summary.ratio(way, work)),
    }


def _text(spread: Spread, digits: int) -> str:
    return f"{spread.median:.{digits}f} ({spread.low:.{digits}f}-{spread.high:.{digits}f})"
