"""What is simulated for the report: tables and their rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from specmeter.speedup.baseline import LEARNED, Source
from tests.benchmarks.speedup_machine import DAY, FOLLOWED
from tests.benchmarks.speedup_simulation import Scenario
from tests.benchmarks.speedup_traffic import Traffic

SEEDS = (9101, 9102, 9103)
"""No constant was chosen by these."""


@dataclass(frozen=True)
class Case:
    """A row of a table."""

    name: str
    scenario: Scenario


@dataclass(frozen=True)
class Section:
    """A table."""

    title: str
    cases: list[Case]
    seeds: tuple[int, ...] = SEEDS[:1]
    part: float = 0.5
    """Of the windows that are asked for; the more important tables get all."""


def sections() -> Iterator[Section]:
    """Yield the tables, the most important ones first."""
    yield Section(
        "Every source: a speedup of 1.5, 8000 requests a day, windows of 50 to 150 completions",
        [
            Case(f"{source}, drift {drift}", Scenario(source, drift))
            for source in Source
            for drift in FOLLOWED
        ],
        SEEDS,
        part=1.0,
    )
    yield Section(
        "No speedup at all: the truth is 1.0",
        [Case(source, Scenario(source, truth=1.0)) for source in Source],
        SEEDS,
        part=1.0,
    )
    yield Section(
        "Half as fast: the truth is 0.5",
        [Case(source, Scenario(source, truth=0.5)) for source in Source],
    )
    yield Section("The first window after the start, when little is known", list(_starts()))
    yield Section("Measured or given up to a day ago", list(_aged()))
    yield Section(
        "Holdout, by completions in a window",
        [
            Case(str(n), Scenario(Source.HOLDOUT, traffic=Traffic(shortest=n, longest=n)))
            for n in (10, 20, 50, 100, 200, 400)
        ],
    )
    yield Section(
        "Holdout, by requests a day",
        [
            Case(
                f"{a_day:.0f}, drift {drift}",
                Scenario(Source.HOLDOUT, drift, traffic=Traffic(a_day=a_day)),
            )
            for a_day in (1000.0, 2000.0, 4000.0, 16000.0)
            for drift in FOLLOWED[:2]
        ],
    )
    yield Section(
        "Holdout, by spread of output lengths (standard deviation of the logarithm)",
        [Case(str(lengths), Scenario(Source.HOLDOUT, lengths=lengths)) for lengths in (0.4, 1.2)],
    )
    yield Section(
        "Plain speed is known of other loads than the traffic has (one to six in flight)",
        list(_other_loads()),
    )
    yield Section("Worse machines than the interval is made for", list(_worse()))


def _starts() -> Iterator[Case]:
    for source in LEARNED:
        for drift in FOLLOWED[:2]:
            first = Traffic(warm_up=0.0, windows=1)
            yield Case(f"{source}, drift {drift}", Scenario(source, drift, traffic=first))
    yield Case("measured", Scenario(Source.MEASURED, traffic=Traffic(seen=0)))


def _aged() -> Iterator[Case]:
    for source in (Source.MEASURED, Source.FIXED):
        for drift in FOLLOWED:
            scenario = Scenario(source, drift, traffic=Traffic(age=DAY))
            yield Case(f"{source}, drift {drift}", scenario)


def _other_loads() -> Iterator[Case]:
    for crowd, machine in ((0.0, "load costs little"), (0.04, "usual"), (0.3, "load costs much")):
        for loads, name in (((1,), "always 1"), ((1, 1, 1, 2), "1, now and then 2")):
            scenario = Scenario(Source.HOLDOUT, crowd=crowd, traffic=Traffic(plain_loads=loads))
            yield Case(f"holdout, plain load {name}, {machine}", scenario)
    small = Traffic(table_contexts=(256.0, 1024.0, 4096.0))
    for most in (1, 4):
        table_loads = tuple(load for load in small.table_loads if load <= most)
        scenario = Scenario(Source.MEASURED, traffic=replace(small, table_loads=table_loads))
        yield Case(f"measured, a table of loads to {most} and contexts to 4096", scenario)


def _worse() -> Iterator[Case]:
    for source in (Source.HOLDOUT, Source.MEASURED):
        scenario = Scenario(source, "3 % for minutes")
        yield Case(f"{source}, 3 % faster or slower for minutes at a time", scenario)
        stalls = Scenario(source, traffic=Traffic(stalls=0.01))
        yield Case(f"{source}, one completion in 100 takes 3 to 10 times as long", stalls)
