"""How many events per second one core takes: the load is raised until the proxy gives way."""

from collections.abc import Iterator

from tests.benchmarks.errors import BenchmarkError
from tests.benchmarks.suite.lab import Lab, Visit
from tests.benchmarks.suite.results import BASE, DIRECT, Measure, Section
from tests.benchmarks.traffic import Shape

STREAMS = 200
_FIRST = 4000.0  # events per second
_STEP = 1.25
_MOST = 60_000.0
_SECONDS = 2.0
_KEPT_UP = 0.97  # share of the events that came in time

LIMIT = Measure("highest load kept up with", "events/s", 0)
BUSY = Measure("cores that it used then", "cores", 2)


def measure(lab: Lab) -> Section:
    """Raise the load on each way, step by step."""
    section = Section(
        "Limit of one core",
        [
            (
                f"{STREAMS} streams, {_STEP:g} times the events from step to step, until fewer "
                f"than {_KEPT_UP:.0%} come in time."
            ),
            (
                "Where a way reaches what the direct way does, that is the limit of the load "
                "itself, which shares the cores, and not the proxy's."
            ),
        ],
    )
    for repeat, way in lab.rounds((DIRECT, BASE, "haproxy", "specmeter")):
        with section.trying(way), lab.visit(way) as visit:
            for load, cores in kept_up_with(lab, visit, STREAMS):
                section.add(LIMIT, way, repeat, load)
                if way != DIRECT:
                    section.add(BUSY, way, repeat, cores)
    return section


def kept_up_with(lab: Lab, visit: Visit, streams: int) -> Iterator[tuple[float, float]]:
    """Raise the load until it is too much; yield each before, and the cores used then.

    Loads are events per second over all streams.
    """
    load = _FIRST
    while load <= _MOST:
        lab.tell(f"limit: {visit.way}, {load:.0f} events/s")
        cores = _cores(visit, streams, load)
        if cores is None:
            return
        yield load, cores
        load *= _STEP


def _cores(visit: Visit, streams: int, load: float) -> float | None:
    """The cores that the proxy used; None if it could not keep up."""
    rate = load / streams
    try:
        found = visit.load(
            "streams", Shape(rate=rate), streams=streams, rate=rate, seconds=_SECONDS
        )
    except BenchmarkError:
        return None
    if found.count / found.seconds < _KEPT_UP * load:
        return None
    return found.cpu_seconds / found.seconds
