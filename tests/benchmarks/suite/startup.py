"""How long a proxy takes from its start to its first answer."""

import time

from tests.benchmarks.suite.lab import COMPARED, HAPROXY, Lab
from tests.benchmarks.suite.results import Measure, Section

TO_FIRST_ANSWER = Measure("to the first answer", "s", 2)


def measure(lab: Lab) -> Section:
    """Start every proxy several times."""
    section = Section("Start-up", ["Asked every 20 ms from the process's start on."])
    for repeat, way in lab.rounds((*COMPARED, HAPROXY), lab.scale.starts):
        lab.tell(f"start-up: {way}")
        began = time.perf_counter()
        with section.trying(way), lab.started(way):
            section.add(TO_FIRST_ANSWER, way, repeat, time.perf_counter() - began)
    return section
