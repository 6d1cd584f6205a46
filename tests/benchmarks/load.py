"""The load generator, a process of its own.

`python -m tests.benchmarks.load streams|requests ARGUMENTS` takes a JSON object, the arguments of
`Meter` and of `run_streams` or `run_requests`, and prints one, what was measured. It reads the
proxy's CPU time itself, so that work and CPU time belong to the same moments. Anything wrong with a
response ends it with status 1 and the reason.
"""

import json
import sys
from dataclasses import asdict

import uvloop

from tests.benchmarks.closed_loop import run_requests
from tests.benchmarks.errors import BenchmarkError
from tests.benchmarks.meter import Meter
from tests.benchmarks.streams import run_streams
from tests.benchmarks.traffic import Shape


def main(kind: str, arguments: str) -> None:
    """Run one load."""
    options = json.loads(arguments)
    meter = Meter(options.pop("proxy"), options.pop("upstream"))
    options["meter"] = meter
    if "shape" in options:
        options["shape"] = Shape(**options["shape"])
    load = run_streams(**options) if kind == "streams" else run_requests(**options)
    try:
        uvloop.run(load)
    except (BenchmarkError, TimeoutError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    print(json.dumps(asdict(meter.measured())))


if __name__ == "__main__":
    main(*sys.argv[1:])
