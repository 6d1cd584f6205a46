"""How much is measured: a little, or everything."""

from dataclasses import dataclass, replace

_KIB = 1024
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Scale:
    """The sizes of a run.

    Attributes:
        repeats: of the parts that are compared; every way once in each, in random order.
        cost_repeats: of the cost, which has a goal to meet: the more, the less chance has its say.
        seconds: of streaming, each time.
        requests: without streaming, each time.
        calm_requests: of two clients, for the time to the first byte.
        open_streams: for the memory of one.
        many_requests: for the memory after so many.
        starts: of each process.
        event_sizes: bytes of an event.
        stream_counts: at a time.
        body_sizes: bytes of an answer, or of a request.
        upstream_counts: behind one proxy.
        ladder: whether the load is raised until the proxy gives way.
    """

    repeats: int = 3
    cost_repeats: int = 5
    seconds: float = 2.0
    requests: int = 3000
    calm_requests: int = 100
    open_streams: int = 400
    many_requests: int = 3000
    starts: int = 3
    event_sizes: tuple[int, ...] = (300, 4 * _KIB)
    stream_counts: tuple[int, ...] = (1, 64, 400)
    body_sizes: tuple[int, ...] = (_KIB, _MIB)
    upstream_counts: tuple[int, ...] = (1, 8)
    ladder: bool = False

    def repeated(self, repeats: int) -> "Scale":
        """The same with another number of repeats."""
        return replace(self, repeats=repeats, cost_repeats=repeats)


QUICK = Scale()

FULL = Scale(
    repeats=5,
    cost_repeats=9,
    seconds=4.0,
    requests=5000,
    calm_requests=1000,
    open_streams=1000,
    many_requests=100_000,
    starts=10,
    event_sizes=(300, _KIB, 4 * _KIB, 16 * _KIB, 64 * _KIB),
    stream_counts=(1, 16, 64, 256, 1000, 2000, 4000),
    body_sizes=(_KIB, 64 * _KIB, _MIB, 8 * _MIB, 64 * _MIB),
    upstream_counts=(1, 2, 4, 8),
    ladder=True,
)

STREAMS = 64
RATE = 50.0
"""Streams at a time and events per second of each, where nothing else is said."""

CLIENTS = 16
"""At a time without streaming."""
