"""What was planned and what was found."""

from dataclasses import dataclass
from typing import Literal

from tests.benchmarks.meter import Measured

Work = Literal["events", "requests"]

_TOO_SLOW = 0.97  # share of the planned events per second below which a sample is overloaded
_DISTURBED = 0.1  # cores busy with other things above which a sample is disturbed


@dataclass(frozen=True)
class Plan:
    """How much load there is.

    Attributes:
        repeats: of everything.
        streams: how many at a time.
        rate: events per second of each stream.
        seconds: of streaming that are measured.
        clients: connections without streaming.
        requests: without streaming that are measured.
    """

    repeats: int = 5
    streams: int = 64
    rate: float = 50.0
    seconds: float = 4.0
    clients: int = 16
    requests: int = 5000

    @property
    def events_per_second(self) -> float:
        """Of all streams together."""
        return self.streams * self.rate


@dataclass(frozen=True)
class Sample:
    """What one repeat found out about one way to the upstream.

    Attributes:
        way: `direct` or the proxy's name.
        repeat: which one, from 0.
        idle: CPU seconds per second that the proxy uses without load.
        events: of streams.
        requests: without streaming.
    """

    way: str
    repeat: int
    idle: float
    events: Measured
    requests: Measured

    def measured(self, work: Work) -> Measured:
        """Give what was measured of this kind of work."""
        return self.events if work == "events" else self.requests

    def microseconds(self, work: Work) -> float:
        """CPU time per event or request, without the idle share."""
        measured = self.measured(work)
        busy = measured.cpu_seconds - self.idle * measured.seconds
        return busy / measured.count * 1e6

    def per_second(self, work: Work) -> float:
        """Events or requests per second."""
        measured = self.measured(work)
        return measured.count / measured.seconds

    def faults(self, plan: Plan) -> list[str]:
        """Why this sample is not to be trusted, if anything."""
        faults = []
        if self.per_second("events") < _TOO_SLOW * plan.events_per_second:
            faults.append("overloaded: events came late")
        elif self.events.pieces < _TOO_SLOW * self.events.count:
            faults.append("overloaded: events came several at a time")
        foreign = self.events.foreign_cpu_seconds + self.requests.foreign_cpu_seconds
        cores = foreign / (self.events.seconds + self.requests.seconds)
        if cores > _DISTURBED:
            faults.append(f"disturbed: {cores:.2f} cores were busy with other things")
        return faults
