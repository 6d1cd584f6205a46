"""`python -m tests.benchmarks.memory`: what a day of traffic leaves in the proxy's memory.

Completions of all contexts, lengths and loads go through everything that remembers them (the
counters, the baselines, the page's past), at injected times; no request is sent. Issue's limit:
50 MB over the start.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry
from rich.console import Console
from rich.progress import Progress

from specmeter.history.history import History
from specmeter.meter.completion import Completion
from specmeter.meter.meter import Meter
from specmeter.reading import RawNumbers, check
from specmeter.speedup.baseline import Origin
from specmeter.speedup.estimator import Estimator

_START = 1_800_000_000.0
_LIMIT_MB = 50.0


def main() -> None:
    """Measure as the command line says; exit code 1 if it is more than may be."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.memory")
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--rate", type=float, default=50.0, help="completions a second")
    parser.add_argument("--models", type=int, default=6)
    args = parser.parse_args()
    meter, estimator, history = Meter(CollectorRegistry(), 16), Estimator(), History()
    for model in range(args.models):
        estimator.give_number(f"upstream-{model}", 0.02, _START)
    kinds = _kinds(args.models)
    draw = random.Random(2)
    before = _megabytes()
    most = 0.0
    began = time.process_time()
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("a day", total=args.hours)
        for hour in range(int(args.hours)):
            start = _START + 3600 * hour
            count = int(3600 * args.rate)
            for i in range(count):
                done = msgspec.structs.replace(
                    draw.choice(kinds), finished_at=start + i / args.rate
                )
                estimate = estimator.take(done, Origin(build="b1"))
                done = msgspec.structs.replace(done, estimate=estimate)
                meter.count(done)
                history.take(done)
            most = max(most, _megabytes() - before)
            bar.advance(task)
    grown = _megabytes() - before
    total = int(args.hours) * int(3600 * args.rate)
    seconds = time.process_time() - began
    print(
        f"{total:,} completions of {args.models} models over {args.hours:g} h: "
        f"+{grown:.1f} MB at the end, +{most:.1f} MB at most (start {before:.1f} MB); "
        f"{1e6 * seconds / total:.1f} us of CPU each"
    )
    sys.exit(1 if most > _LIMIT_MB else 0)


def _kinds(models: int) -> list[Completion]:
    """Return completions of every context, output length and load."""
    draw = random.Random(1)
    return [
        Completion(
            upstream=f"upstream-{model}",
            endpoint="/v1/chat/completions",
            model_name=f"model-{model}",
            reading=check(
                RawNumbers(
                    generated=generated,
                    prompt=prompt,
                    drafted=generated // 2,
                    accepted=generated // 3,
                    decode_milliseconds=generated * draw.uniform(8, 25),
                )
            ),
            streamed=True,
            time_to_first_token=0.3,
            duration=generated * 0.02,
            finished_at=0.0,
            in_flight=load,
        )
        for model in range(models)
        for prompt in (50, 900, 4000, 20_000, 90_000, 200_000)
        for generated in (20, 100, 500, 2000, 9000)
        for load in (1, 2, 4, 8, 16, 32, 64, 100)
    ]


def _megabytes() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    main()
