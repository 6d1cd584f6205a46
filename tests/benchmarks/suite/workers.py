"""What several workers cost: CPU time of all processes, and of the one that does most."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.cpu import cpu_seconds
from tests.benchmarks.meter import Measured
from tests.benchmarks.suite.lab import OWN, Lab, Visit
from tests.benchmarks.suite.results import Measure, Section
from tests.benchmarks.suite.scale import CLIENTS, RATE, STREAMS
from tests.benchmarks.targets import open_proxy

WORKERS = (1, 2, 4)

_KINDS = {"streams": "streamed event", "requests": "request"}
_PARTS = ("all processes", "main process", "workers")


def measure(lab: Lab) -> Section:
    """Put the same loads on each number of workers."""
    section = Section(
        "Workers",
        [
            f"{STREAMS} streams of {RATE:g} events/s; {CLIENTS} clients without streaming.",
            (
                "The main process reads and counts what all workers carry, so what it takes of a "
                "core says how many workers it can serve. What they take they share."
            ),
        ],
    )
    for repeat in range(lab.scale.repeats):
        for workers in random.sample(WORKERS, len(WORKERS)):
            way = f"{workers} worker{'s' if workers > 1 else ''}"
            lab.tell(f"workers: {way}")
            with section.trying(way), TemporaryDirectory(prefix="specmeter-benchmark-") as folder:
                command = f"{lab.specmeter} --workers {workers}"
                with open_proxy(OWN, lab.upstream.port, Path(folder), command) as target:
                    _sample(lab, lab.opened(way, target), section, repeat)
    return section


def _sample(lab: Lab, visit: Visit, section: Section, repeat: int) -> None:
    main, *workers = visit.pids
    for kind, of in _KINDS.items():
        before = cpu_seconds([main]), cpu_seconds(workers)
        found = _load(lab, visit, kind)
        spent = cpu_seconds([main]) - before[0], cpu_seconds(workers) - before[1]
        for part, seconds in zip(_PARTS, (sum(spent), *spent), strict=True):
            if workers or part == _PARTS[0]:
                measured = Measure(f"CPU per {of}, {part}", "µs")
                section.add(measured, visit.way, repeat, seconds / found.count * 1e6)


def _load(lab: Lab, visit: Visit, kind: str) -> Measured:
    if kind == "streams":
        return visit.load(kind, streams=STREAMS, rate=RATE, seconds=lab.scale.seconds)
    return visit.load(kind, clients=CLIENTS, requests=lab.scale.requests)
