"""What every part of the suite uses: the ways to the upstream, and loads on them."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.cpu import process_tree
from tests.benchmarks.measure import idle_share, run_load
from tests.benchmarks.meter import Measured
from tests.benchmarks.resident import resident_bytes
from tests.benchmarks.suite.results import BASE, DIRECT
from tests.benchmarks.suite.scale import Scale
from tests.benchmarks.targets import Target, open_proxy
from tests.benchmarks.traffic import AS_CAPTURED, MOST_MODELS, UNMETERED, Shape

OWN = "specmeter"
NOT_METERED = "specmeter, not metered"
TEN_MODELS = f"specmeter, {MOST_MODELS} models"
HAPROXY = "haproxy"
LITELLM = "litellm"

SHAPES = {NOT_METERED: Shape(path=UNMETERED), TEN_MODELS: Shape(models=MOST_MODELS)}
"""Ways that are another's, with other requests."""

COMPARED = (BASE, OWN)
"""The ways of the parts that take longest."""

_DISTURBED = 0.1  # cores busy with other things above which a sample is disturbed


@dataclass
class Quiet:
    """How quiet the machine was.

    Attributes:
        samples: all.
        disturbed: those during which it had other things to do.
    """

    samples: int = 0
    disturbed: int = 0

    def note(self, measured: Measured) -> None:
        """Look at a sample."""
        self.samples += 1
        self.disturbed += measured.foreign_cpu_seconds / measured.seconds > _DISTURBED


@dataclass(frozen=True)
class Visit:
    """A way that is open just now."""

    way: str
    port: int
    pids: list[int]
    upstream: int
    idle: float
    """CPU seconds per second that the proxy uses by itself."""
    quiet: "Quiet"

    def load(
        self, kind: str, shape: Shape | None = None, limit: float = 300.0, **arguments: Any
    ) -> Measured:
        """Put a load on it.

        Args:
            kind: `streams` or `requests`.
            shape: of requests and answers, if it is not the way's own.
            limit: seconds after which it is given up.
            arguments: as `run_streams` or `run_requests` take them.

        Raises:
            BenchmarkError: something was wrong with an answer.
        """
        own = SHAPES.get(self.way, AS_CAPTURED)
        if shape is not None:
            own = replace(shape, path=own.path, models=max(own.models, shape.models))
        if self.way == LITELLM:
            arguments["checked"] = False  # it writes every answer anew
        watched = {"port": self.port, "proxy": self.pids, "upstream": self.upstream}
        found = run_load(kind, {**watched, "shape": asdict(own), **arguments}, limit)
        self.quiet.note(found)
        return found

    def microseconds(self, measured: Measured) -> float:
        """CPU time per event or request, without the idle share."""
        return (measured.cpu_seconds - self.idle * measured.seconds) / measured.count * 1e6

    def resident_bytes(self) -> int:
        """The memory of the proxy."""
        return resident_bytes(self.pids)


@dataclass
class Lab:
    """The upstream, and what stands in front of it.

    Attributes:
        scale: how much is measured.
        upstream: the upstream, already running.
        ways: those that can be taken, DIRECT among them.
        specmeter: the command that starts specmeter.
        litellm: the virtual environment that has LiteLLM, if it is to be measured.
        tell: told what is being done.
        quiet: how quiet the machine was.
    """

    scale: Scale
    upstream: Target
    ways: Sequence[str]
    specmeter: str
    litellm: Path | None
    tell: Callable[[str], None]
    quiet: Quiet = field(default_factory=Quiet)

    @contextmanager
    def visit(self, way: str) -> Iterator[Visit]:
        """Open a way, with a proxy started for the purpose."""
        if way == DIRECT:
            yield Visit(way, self.upstream.port, [], self.upstream.pid, 0.0, self.quiet)
            return
        with self.started(way) as target:
            yield self.opened(way, target)

    @contextmanager
    def started(self, way: str) -> Iterator[Target]:
        """Start the proxy of a way, stop it when the block is left."""
        name = OWN if way in SHAPES else way
        with TemporaryDirectory(prefix="specmeter-benchmark-") as folder:
            where = (self.upstream.port, Path(folder))
            with open_proxy(name, *where, self.specmeter, self.litellm) as target:
                yield target

    def opened(self, way: str, target: Target) -> Visit:
        """Make a visit of a proxy that runs already."""
        pids = process_tree(target.pid)
        return Visit(way, target.port, pids, self.upstream.pid, idle_share(pids), self.quiet)

    def rounds(self, ways: Sequence[str], repeats: int | None = None) -> Iterator[tuple[int, str]]:
        """Yield every way once in every repeat, in random order."""
        known = [way for way in ways if way in self.ways]
        for repeat in range(repeats or self.scale.repeats):
            for way in random.sample(known, len(known)):
                yield repeat, way
