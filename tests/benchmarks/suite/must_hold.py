"""A thousand streams for minutes: nothing lost or reordered, little added, little memory."""

from tests.benchmarks.suite.lab import Lab
from tests.benchmarks.suite.results import BASE, DIRECT, Measure, Section
from tests.benchmarks.traffic import Shape

STREAMS = 1000
RATE = 20.0
MOST_GAP = 5.0
"""Milliseconds that the proxy may add to the 99th percentile of the gaps between events."""
MOST_MEMORY = 60.0
"""Kilobytes that an open stream may take."""

_FEW = 10

GAP = Measure("gap between events, p99", "ms", 2, added=True)
MEMORY = Measure("memory per open stream", "kB")
CORES = Measure("cores used", "cores", 2)
EVENTS = Measure("events, every byte compared", "", 0)


def measure(lab: Lab, seconds: float) -> Section:
    """Run it directly, through nginx and through specmeter, once each."""
    section = Section(
        f"{STREAMS} streams of {RATE:g} events/s for {seconds:.0f} s",
        ["An event that is lost, changed or out of order ends the run with an error."],
    )
    few = {"streams": _FEW, "rate": RATE, "seconds": 1.0}
    many = {"streams": STREAMS, "rate": RATE, "seconds": seconds}
    for _, way in lab.rounds((DIRECT, BASE, "specmeter"), 1):
        lab.tell(f"must hold: {way}")
        with section.trying(way), lab.visit(way) as visit:
            before = visit.load("streams", Shape(rate=RATE), **few).resident_bytes
            found = visit.load("streams", Shape(rate=RATE), limit=seconds + 120, **many)
            section.add(EVENTS, way, 0, found.count)
            if found.gap is not None:
                section.add(GAP, way, 0, found.gap.p99)
            if way != DIRECT:
                per_stream = (found.resident_bytes - before) / (STREAMS - _FEW) / 1000
                section.add(MEMORY, way, 0, per_stream)
                section.add(CORES, way, 0, found.cpu_seconds / found.seconds)
    section.notes += verdicts(section)
    return section


def verdicts(section: Section) -> list[str]:
    """Say for each limit whether it held."""
    lines = []
    gap = None
    if GAP in section.measures and "specmeter" in section.ways(GAP):
        gap = section.added(GAP, "specmeter")
    if gap is not None:
        held = "held" if gap.median <= MOST_GAP else "NOT held"
        lines.append(f"added gap p99 at most {MOST_GAP:g} ms: {held}, {gap.median:.2f} ms")
    if MEMORY not in section.measures or "specmeter" not in section.ways(MEMORY):
        return [*lines, "NOT held: specmeter could not be measured to the end"]
    memory = section.value(MEMORY, "specmeter").median
    held = "held" if memory <= MOST_MEMORY else "NOT held"
    lines.append(f"memory per open stream at most {MOST_MEMORY:g} kB: {held}, {memory:.1f} kB")
    return lines
