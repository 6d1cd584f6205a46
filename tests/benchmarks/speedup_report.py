"""`python -m tests.benchmarks.speedup_report`: how far the speedup's interval can be believed.

Writes tables of how often the interval covers the truth, on a steady machine and on one that
drifts, with every source of plain speed. No constant was chosen by the seeds that are reported.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from specmeter.speedup.baseline import Source
from specmeter.speedup.interval import Verdict
from specmeter.speedup.recent import LATEST
from tests.benchmarks.speedup_cases import SEEDS, Section, sections
from tests.benchmarks.speedup_simulation import WITHIN, Outcome, Scenario, said_slower, simulate

_WATCHED = {"from 1.2 to 0.9": (1.2, 0.9), "none, always 1.0": (1.0, 1.0)}

Row = list[str]


def main() -> None:
    """Run the simulation as the command line says."""
    arguments = _arguments()
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        text = _report(arguments.windows, [*sections()][: arguments.sections], bar)
    Console().print(Markdown(text))
    if arguments.markdown:
        arguments.markdown.write_text(text)


def _report(windows: int, planned: list[Section], bar: Progress) -> str:
    steps = sum(len(section.cases) * len(section.seeds) for section in planned)
    task = bar.add_task("simulating", total=steps + len(Source) * len(_WATCHED))

    def outcome(scenario: Scenario, seed: int, part: float) -> Outcome:
        found = simulate(scenario, seed, round(windows * part))
        bar.advance(task)
        return found

    lines: list[str] = []
    for section in planned:
        rows = [
            _row(case.name, [outcome(case.scenario, seed, section.part) for seed in section.seeds])
            for case in section.cases
        ]
        lines += [f"## {section.title}", "", *_table(_HEADER, rows), ""]
    watched = []
    for name, (before, after) in _WATCHED.items():
        for source in Source:
            runs = said_slower(source, SEEDS[0], windows // 2, before=before, after=after)
            watched.append(_watched_row(f"{source}, change {name}", runs))
            bar.advance(task)
    lines += [f"## The latest {LATEST}, watched", "", *_table(_WATCHED_HEADER, watched), ""]
    notes = [f"* {note}" for note in _notes()]
    return "\n".join(["# How far the speedup can be believed", "", *notes, "", *lines])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.speedup_report",
        description="How often the speedup's 95 % interval covers the truth.",
    )
    parser.add_argument(
        "--windows",
        type=int,
        default=1000,
        metavar="N",
        help="per row and seed of the most important tables, 1000 if not given; others get half",
    )
    parser.add_argument("--sections", type=int, metavar="N", help="only the first N tables")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables")
    return parser.parse_args()


_HEADER = [
    "",
    "windows",
    "covers the truth, by seed (%)",
    "together (%)",
    "plain delta method (%)",
    "below, above (%)",
    "bias (%)",
    "half width (%)",
    "says faster, slower (%)",
]
_WATCHED_HEADER = ["", f"said to be slower within {WITHIN} completions (%)", "median after"]


def _row(name: str, outcomes: list[Outcome]) -> Row:
    def mean(of: Callable[[Outcome], float]) -> float:
        return fmean(of(one) for one in outcomes)

    def said(what: Verdict) -> str:
        return _percent(mean(lambda one: one.verdicts[what]))

    return [
        name,
        str(sum(one.windows for one in outcomes)),
        " ".join(_percent(one.covered) for one in outcomes),
        _share(mean(lambda one: one.covered), sum(one.windows for one in outcomes)),
        _percent(mean(lambda one: one.plain_delta)),
        f"{_percent(mean(lambda one: one.below))}, {_percent(mean(lambda one: one.above))}",
        f"{100 * mean(lambda one: one.bias):+.1f} ± {100 * _error(outcomes):.1f}",
        _percent(mean(lambda one: one.half)),
        f"{said(Verdict.FASTER)}, {said(Verdict.SLOWER)}",
    ]


def _error(outcomes: list[Outcome]) -> float:
    """Return the standard error of the mean bias."""
    return math.sqrt(sum(one.bias_error**2 for one in outcomes)) / len(outcomes)


def _watched_row(name: str, runs: list[int | None]) -> Row:
    seen = [passed for passed in runs if passed is not None]
    after = f"{median(seen):.0f}" if seen else ""
    return [name, _share(len(seen) / len(runs), len(runs)), after]


def _share(share: float, count: int) -> str:
    """A share with its binomial standard error."""
    return f"{_percent(share)} ± {_percent(math.sqrt(share * (1 - share) / count))}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _table(header: Row, rows: list[Row]) -> list[str]:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return ["| " + " | ".join(row) + " |" for row in [header, rule, *rows]]


def _notes() -> list[str]:
    seeds = ", ".join(str(seed) for seed in SEEDS)
    return [
        (
            f"Seeds {seeds}, or the first of them; up to eight windows of a day of one machine; "
            "± is the standard error."
        ),
        (
            "The world: contexts of 16 to 60 000 tokens, outputs of 8 to 4000, one to six requests "
            "in flight for some time each, whose caches all have to be read, a tenth of the "
            "requests on the plain server, log-normal noise with a range ratio of 1.26 in five "
            "repeats, a speedup that varies by 22 % between requests."
        ),
        (
            "The plain delta method is n/(n - 1), 1.96 and the baseline's error in quadrature, "
            "with the same baseline."
        ),
    ]


if __name__ == "__main__":
    main()
