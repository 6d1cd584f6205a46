"""A thousand streams for minutes: nothing lost or reordered, little added, little memory."""

from tests.benchmarks.suite.lab import OWN, Lab
from tests.benchmarks.suite.limit import LIMIT, kept_up_with
from tests.benchmarks.suite.results import BASE, DIRECT, Measure, Section
from tests.benchmarks.traffic import Shape

STREAMS = 1000
RATE = 20.0
MOST_GAP = 5.0
"""Milliseconds that the proxy may add to the 99th percentile of the gaps between events.

At half of the load that it keeps up with, on the same machine.
"""
MOST_MEMORY = 60.0
"""Kilobytes that an open stream may take."""

_FEW = 10
_HALF_REPEATS = 3
_HALF_SECONDS = 20.0

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
    for _, way in lab.rounds((DIRECT, BASE, OWN), 1):
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
    section.notes.append(memory_verdict(section))
    return section


def measure_half(lab: Lab) -> Section:
    """See what gaps there are at half of the load that specmeter keeps up with."""
    section = Section(f"{STREAMS} streams at half of the load that specmeter keeps up with")
    load = 0.0
    with section.trying(OWN), lab.visit(OWN) as visit:
        for load, _ in kept_up_with(lab, visit, STREAMS):
            section.add(LIMIT, OWN, 0, load)
    rate = load / 2 / STREAMS
    if not rate:
        section.notes.append("NOT held: specmeter kept up with no load")
        return section
    for repeat, way in lab.rounds((DIRECT, BASE, OWN), _HALF_REPEATS):
        lab.tell(f"half: {way}, {load / 2:.0f} events/s")
        with section.trying(way), lab.visit(way) as visit:
            shape = Shape(rate=rate)
            found = visit.load("streams", shape, streams=STREAMS, rate=rate, seconds=_HALF_SECONDS)
            if found.gap is not None:
                section.add(GAP, way, repeat, found.gap.p99)
            if way != DIRECT:
                section.add(CORES, way, repeat, found.cpu_seconds / found.seconds)
    section.notes.append(gap_verdict(section))
    return section


def gap_verdict(section: Section) -> str:
    """Say whether the limit on the added gap held."""
    measured = GAP in section.measures and OWN in section.ways(GAP)
    gap = section.added(GAP, OWN) if measured else None
    if gap is None:
        return "NOT held: specmeter could not be measured to the end"
    held = "held" if gap.median <= MOST_GAP else "NOT held"
    return f"added gap p99 at most {MOST_GAP:g} ms: {held}, {gap.median:.2f} ms"


def memory_verdict(section: Section) -> str:
    """Say whether the limit on memory held."""
    if MEMORY not in section.measures or OWN not in section.ways(MEMORY):
        return "NOT held: specmeter could not be measured to the end"
    memory = section.value(MEMORY, OWN).median
    held = "held" if memory <= MOST_MEMORY else "NOT held"
    return f"memory per open stream at most {MOST_MEMORY:g} kB: {held}, {memory:.1f} kB"
