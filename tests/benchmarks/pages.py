"""`python -m tests.benchmarks.pages`: what ten open pages cost the data path.

The same proxy, with and without readers of `/api/events`, in turn and in random order; CPU time
per streamed event and per request, as in `python -m tests.benchmarks`. All of the proxy's CPU
time counts, that for the pages included.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import Progress

from tests.benchmarks.measure import Bench
from tests.benchmarks.processes import ROOT
from tests.benchmarks.sample import Plan, Sample, Work
from tests.benchmarks.targets import open_upstream
from tests.ports import free_port

_READER = """
import asyncio, sys, aiohttp
async def read(session, url):
    while True:
        try:
            async with session.get(url) as response:
                async for _ in response.content.iter_any():
                    pass
        except aiohttp.ClientError:
            pass
        await asyncio.sleep(0.1)
async def main(url, count):
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        await asyncio.gather(*(read(session, url) for _ in range(count)))
asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def main() -> None:
    """Measure as the command line says."""
    defaults = Plan()
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.pages")
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=defaults.seconds)
    parser.add_argument("--requests", type=int, default=defaults.requests)
    args = parser.parse_args()
    plan = Plan(repeats=args.repeats, seconds=args.seconds, requests=args.requests)
    found: dict[int, list[Sample]] = {0: [], args.pages: []}
    with (
        TemporaryDirectory(prefix="specmeter-benchmark-") as folder,
        open_upstream(plan.rate, Path(folder) / "upstream.log") as upstream,
        Progress(console=Console(stderr=True)) as bar,
    ):
        task = bar.add_task("", total=2 * args.repeats)
        for repeat in range(args.repeats):
            for pages in random.sample(list(found), 2):
                admin = free_port()
                command = (
                    "{python} -m specmeter serve --upstream {upstream} --listen {listen} "
                    f"--admin 127.0.0.1:{admin}"
                )
                bench = Bench(plan, upstream, command, lambda _: None)
                with _open_pages(admin, pages):
                    found[pages].append(bench.measure("specmeter", repeat))
                bar.advance(task)
    _tell(found[0], found[args.pages], args.pages)


@contextmanager
def _open_pages(admin: int, count: int) -> Iterator[None]:
    """Run a process that reads events; it waits for the proxy by itself."""
    if not count:
        yield
        return
    url = f"http://127.0.0.1:{admin}/api/events?range=5m"
    readers = subprocess.Popen([sys.executable, "-c", _READER, url, str(count)], cwd=ROOT)
    try:
        time.sleep(0.5)
        yield
    finally:
        readers.kill()
        readers.wait()


def _tell(without: list[Sample], with_pages: list[Sample], pages: int) -> None:
    kinds: tuple[tuple[str, Work], ...] = (("streamed event", "events"), ("request", "requests"))
    for name, work in kinds:
        pairs = [
            (_microseconds(one, work), _microseconds(other, work))
            for one, other in zip(without, with_pages, strict=True)
        ]
        ratios = sorted(other / one for one, other in pairs)
        print(
            f"CPU time per {name}: {median(one for one, _ in pairs):.1f} us without a page, "
            f"{median(other for _, other in pairs):.1f} us with {pages}; ratio "
            f"{median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
        )


def _microseconds(sample: Sample, work: Work) -> float:
    """CPU time per event or request, what the proxy does for the pages meanwhile included."""
    measured = sample.measured(work)
    return measured.cpu_seconds / measured.count * 1e6


if __name__ == "__main__":
    main()
