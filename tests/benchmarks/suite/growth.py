"""How cost grows: with the size of events and bodies, with streams, with upstreams."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.suite.lab import COMPARED, OWN, Lab, Visit
from tests.benchmarks.suite.results import Measure, Section
from tests.benchmarks.suite.scale import CLIENTS, RATE, STREAMS
from tests.benchmarks.targets import many_upstreams
from tests.benchmarks.traffic import MOST_MODELS, Shape

_KIB, _MIB = 1024, 1024 * 1024
_EVENTS_PER_SECOND = 2000.0  # of all streams, however many there are
_MOST_RATE = 50.0
_MORE_SECONDS = 500.0  # streams for which it is measured a second longer: they begin slowly
_EVENT_RATE = 10.0  # of each stream where events are large
_MOST_BYTES = 96 * _MIB  # of bodies in one sample


def by_event_size(lab: Lab) -> Section:
    """Vary the size of events."""
    section = Section("Growth with event size", [f"{STREAMS} streams of {_EVENT_RATE:g} events/s."])
    for repeat, way in lab.rounds(COMPARED, _repeats(lab)):
        with section.trying(way), lab.visit(way) as visit:
            for size in lab.scale.event_sizes:
                lab.tell(f"events of {_size(size)}: {way}")
                shape = Shape(event_bytes=size, rate=_EVENT_RATE)
                streams = {"streams": STREAMS, "rate": _EVENT_RATE, "seconds": lab.scale.seconds}
                found = visit.load("streams", shape, **streams)
                section.add(
                    Measure(f"event of {_size(size)}", "µs"), way, repeat, visit.microseconds(found)
                )
    return section


def by_streams(lab: Lab) -> Section:
    """Vary how many streams there are, at the same number of events."""
    section = Section(
        "Growth with streams",
        [f"At most {_EVENTS_PER_SECOND:g} events/s together, and {_MOST_RATE:g} of one stream."],
    )
    for repeat, way in lab.rounds(COMPARED, _repeats(lab)):
        with section.trying(way), lab.visit(way) as visit:
            for streams in lab.scale.stream_counts:
                lab.tell(f"{streams} streams: {way}")
                rate = min(_EVENTS_PER_SECOND / streams, _MOST_RATE)
                seconds = lab.scale.seconds + streams / _MORE_SECONDS
                load = {"streams": streams, "rate": rate, "seconds": seconds}
                found = visit.load("streams", Shape(rate=rate), **load)
                measure = Measure(f"event, {streams} streams", "µs")
                section.add(measure, way, repeat, visit.microseconds(found))
    return section


def by_body_size(lab: Lab) -> Section:
    """Vary the size of answers, and of requests."""
    section = Section("Growth with body size", ["One client at a time, without streaming."])
    for repeat, way in lab.rounds(COMPARED, _repeats(lab)):
        with section.trying(way), lab.visit(way) as visit:
            for size in lab.scale.body_sizes:
                count = max(min(_MOST_BYTES // size, 100), 2)
                load = {"clients": 1, "requests": count, "warm_up": 1}
                for what, shape in (
                    ("answer", Shape(answer_bytes=size)),
                    ("request", Shape(upload_bytes=size)),
                ):
                    lab.tell(f"{what} of {_size(size)}: {way}")
                    found = visit.load("requests", shape, **load)
                    measure = Measure(f"{what} of {_size(size)}", "µs", 0)
                    section.add(measure, way, repeat, visit.microseconds(found))
    return section


def by_upstreams(lab: Lab) -> Section:
    """Vary how many upstreams a request's model is chosen from."""
    section = Section(
        "Growth with upstreams", ["Of specmeter alone; each serves models of its own."]
    )
    for repeat in range(_repeats(lab)):
        for count in lab.scale.upstream_counts:
            lab.tell(f"{count} upstreams")
            with section.trying(f"{count} upstreams"), _many(lab, count) as visit:
                load = {"clients": CLIENTS, "requests": lab.scale.requests}
                found = visit.load("requests", Shape(models=MOST_MODELS), **load)
                measure = Measure(f"request, {count} upstreams", "µs")
                section.add(measure, visit.way, repeat, visit.microseconds(found))
                streams = {"streams": STREAMS, "rate": RATE, "seconds": lab.scale.seconds}
                found = visit.load("streams", Shape(models=MOST_MODELS), **streams)
                measure = Measure(f"event, {count} upstreams", "µs")
                section.add(measure, visit.way, repeat, visit.microseconds(found))
    return section


@contextmanager
def _many(lab: Lab, count: int) -> Iterator[Visit]:
    with (
        TemporaryDirectory(prefix="specmeter-benchmark-") as folder,
        many_upstreams(count, lab.upstream.port, Path(folder)) as target,
    ):
        yield lab.opened(f"{OWN}, by model", target)


def _repeats(lab: Lab) -> int:
    return lab.scale.repeats if lab.scale.ladder else 1


def _size(count: int) -> str:
    if count >= _MIB:
        return f"{count // _MIB} MiB"
    return f"{count // _KIB} KiB" if count >= _KIB else f"{count} B"
