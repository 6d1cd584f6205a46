"""What passing on costs: CPU time, and time until a client has what was sent."""

from tests.benchmarks.meter import Measured
from tests.benchmarks.suite.lab import LITELLM, Lab, Visit
from tests.benchmarks.suite.results import DIRECT, Measure, Section
from tests.benchmarks.suite.scale import CLIENTS, RATE, STREAMS
from tests.benchmarks.traffic import Shape

EVENT = Measure("CPU per streamed event", "µs")
REQUEST = Measure("CPU per request", "µs")
FIRST_P50 = Measure("time to first byte, p50", "ms", 2, added=True)
FIRST_P99 = Measure("time to first byte, p99", "ms", 2, added=True)
GAP_P99 = Measure("gap between events, p99", "ms", 2, added=True)

_FEWER = 8  # by so much LiteLLM's load is less, so that it keeps up
_OVERLOADED = 0.97  # share of the planned events below which a sample is said to be late


def measure(lab: Lab) -> Section:
    """Measure every way in every repeat."""
    section = Section(
        "Cost of passing on",
        [
            (
                f"{STREAMS} streams of {RATE:g} events/s, {CLIENTS} clients without streaming; "
                "2 clients without streaming for the time to the first byte."
            ),
            (
                "Not metered: the same answers on a path that no meter reads. 10 models: each "
                "request names one of ten, so that there are ten times the series."
            ),
        ],
    )
    late: set[str] = set()
    for repeat, way in lab.rounds(lab.ways, lab.scale.cost_repeats):
        lab.tell(f"cost: {way}")
        with section.trying(way), lab.visit(way) as visit:
            _sample(lab, visit, section, repeat, late)
    if LITELLM in lab.ways:
        section.notes.append(
            f"LiteLLM bears {_FEWER} times fewer streams and clients, and {_FEWER} times fewer "
            "events in each. Its answers are not compared with what was sent: it writes them anew."
        )
    if late:
        section.notes.append(
            f"Events came late or several at a time in some samples of {', '.join(sorted(late))}: "
            "cheaper for the proxy than they are."
        )
    return section


def _sample(lab: Lab, visit: Visit, section: Section, repeat: int, late: set[str]) -> None:
    scale = lab.scale
    few = _FEWER if visit.way == LITELLM else 1
    rate = RATE / few
    shape = Shape(rate=rate) if few > 1 else None
    streams = {"streams": STREAMS // few, "rate": rate, "seconds": scale.seconds * few}
    events = visit.load("streams", shape, **streams)
    busy = visit.load("requests", clients=CLIENTS // few, requests=scale.requests // few)
    calm = visit.load("requests", clients=2, requests=scale.calm_requests // few)
    if _is_late(events, STREAMS // few * rate):
        late.add(visit.way)
    if visit.way != DIRECT:
        section.add(EVENT, visit.way, repeat, visit.microseconds(events))
        section.add(REQUEST, visit.way, repeat, visit.microseconds(busy))
    if calm.first_byte is not None and events.gap is not None:
        section.add(FIRST_P50, visit.way, repeat, calm.first_byte.p50)
        section.add(FIRST_P99, visit.way, repeat, calm.first_byte.p99)
        section.add(GAP_P99, visit.way, repeat, events.gap.p99)


def _is_late(events: Measured, planned: float) -> bool:
    together = events.pieces < _OVERLOADED * events.count
    return together or events.count / events.seconds < _OVERLOADED * planned
