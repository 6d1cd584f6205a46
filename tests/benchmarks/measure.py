"""Measuring one way to the upstream once."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.cpu import cpu_seconds, process_tree
from tests.benchmarks.errors import BenchmarkError
from tests.benchmarks.meter import Measured
from tests.benchmarks.percentiles import Percentiles
from tests.benchmarks.processes import ROOT
from tests.benchmarks.sample import Plan, Sample
from tests.benchmarks.targets import Target, open_proxy

_IDLE = 1.0  # seconds of doing nothing, whose CPU time is taken off again
_ATTEMPTS = 3  # to take a sample without faults
_LIMIT = 300.0  # seconds after which a load is given up


@dataclass(frozen=True)
class Bench:
    """All that samples have in common.

    Attributes:
        plan: how much load.
        upstream: the upstream, already running.
        specmeter: the command that starts specmeter.
        tell: told what is being done.
    """

    plan: Plan
    upstream: Target
    specmeter: str
    tell: Callable[[str], None]

    def measure(self, way: str, repeat: int) -> Sample:
        """Load the upstream in both manners, directly or through a proxy started for the purpose.

        A sample with faults is taken again, since other work on a machine comes in bursts. That
        does not bend the result: faults do not depend on the CPU time found.

        Args:
            way: `direct` or the proxy's name.
            repeat: goes into the sample.

        Raises:
            BenchmarkError: there is no result.
        """
        for _ in range(_ATTEMPTS):
            sample = self._measure(way, repeat)
            if not sample.faults(self.plan):
                break
        return sample

    def _measure(self, way: str, repeat: int) -> Sample:
        if way == "direct":
            return self._sample(way, repeat, self.upstream.port, [])
        with TemporaryDirectory(prefix="specmeter-benchmark-") as folder:
            self.tell(f"{way}: start")
            with open_proxy(way, self.upstream.port, Path(folder), self.specmeter) as proxy:
                return self._sample(way, repeat, proxy.port, process_tree(proxy.pid))

    def _sample(self, way: str, repeat: int, port: int, pids: list[int]) -> Sample:
        plan = self.plan
        watched = {"port": port, "proxy": pids, "upstream": self.upstream.pid}
        self.tell(f"{way}: idle")
        idle = idle_share(pids)
        self.tell(f"{way}: streams")
        streams = {"streams": plan.streams, "rate": plan.rate, "seconds": plan.seconds}
        events = run_load("streams", watched | streams)
        self.tell(f"{way}: requests")
        loop = {"clients": plan.clients, "requests": plan.requests}
        requests = run_load("requests", watched | loop)
        return Sample(way, repeat, idle, events, requests)


def idle_share(pids: list[int]) -> float:
    """CPU seconds per second that the processes use by themselves."""
    if not pids:
        return 0.0
    began, before = time.perf_counter(), cpu_seconds(pids)
    time.sleep(_IDLE)
    return (cpu_seconds(pids) - before) / (time.perf_counter() - began)


def run_load(kind: str, arguments: Mapping[str, object], limit: float = _LIMIT) -> Measured:
    """Run the load generator.

    Args:
        kind: `streams` or `requests`.
        arguments: as `load` takes them.
        limit: seconds after which it is given up.

    Raises:
        BenchmarkError: anything was wrong with a response, or it took too long.
    """
    command = [sys.executable, "-m", "tests.benchmarks.load", kind, json.dumps(arguments)]
    try:
        load = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limit,
            check=True,
            process_group=0,  # Ctrl-C reaches the benchmark alone, which stops the others
        )
    except subprocess.CalledProcessError as error:
        raise BenchmarkError(f"{kind}: {error.stderr.strip()}") from None
    except subprocess.TimeoutExpired:
        raise BenchmarkError(f"{kind}: not done after {limit:.0f} s") from None
    found = json.loads(load.stdout)
    times = {name: Percentiles(**found[name]) for name in ("first_byte", "gap") if found[name]}
    return Measured(**{**found, "first_byte": None, "gap": None, **times})
