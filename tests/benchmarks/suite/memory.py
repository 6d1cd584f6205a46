"""What the proxies keep in memory."""

from tests.benchmarks.suite.lab import COMPARED, HAPROXY, Lab, Visit
from tests.benchmarks.suite.results import Measure, Section
from tests.benchmarks.suite.scale import CLIENTS
from tests.benchmarks.traffic import Shape

_MIB = 1024 * 1024
_RATE = 2.0  # events per second of each stream
_WARM_UP = 1000  # requests after which memory is compared

AT_START = Measure("at start", "MiB")
PER_STREAM = Measure("per open stream", "kB")
AFTER = Measure("after many requests", "MiB")
GROWTH = Measure("growth over them", "%")


def measure(lab: Lab) -> Section:
    """Measure idle proxies, proxies with many streams open, and after many requests."""
    scale = lab.scale
    section = Section(
        "Memory",
        [
            (
                f"Per open stream: {scale.open_streams} streams of {_RATE:g} events/s, against the "
                "process before them, which has served a few."
            ),
            (
                f"After many requests: {scale.many_requests} without streaming, growth against "
                f"{_WARM_UP} of them."
            ),
        ],
    )
    repeats = scale.repeats if scale.ladder else 1
    for repeat, way in lab.rounds((*COMPARED, HAPROXY), repeats):
        lab.tell(f"memory: {way}")
        with section.trying(way), lab.visit(way) as visit:
            _sample(visit, section, repeat, scale.open_streams, scale.many_requests)
    return section


def _sample(visit: Visit, section: Section, repeat: int, streams: int, requests: int) -> None:
    section.add(AT_START, visit.way, repeat, visit.resident_bytes() / _MIB)
    few, many = _with_streams(visit, 4), _with_streams(visit, streams)
    section.add(PER_STREAM, visit.way, repeat, (many - few) / (streams - 4) / 1000)
    visit.load("requests", clients=CLIENTS, requests=_WARM_UP)
    before = visit.resident_bytes()
    visit.load("requests", clients=CLIENTS, requests=requests)
    after = visit.resident_bytes()
    section.add(AFTER, visit.way, repeat, after / _MIB)
    section.add(GROWTH, visit.way, repeat, (after / before - 1) * 100)


def _with_streams(visit: Visit, streams: int) -> int:
    """The memory while so many streams are under way."""
    shape = Shape(rate=_RATE)
    load = visit.load("streams", shape, streams=streams, rate=_RATE, seconds=1.0)
    return load.resident_bytes
