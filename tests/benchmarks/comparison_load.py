"""`python -m tests.benchmarks.comparison_load`: do holdout and shadow delay live traffic?

200 live streams at a time, with and without a comparison whose plain upstream is in trouble, in
random order. What counts is how far the time to the first byte moves beside its own noise.
"""

import argparse
import asyncio
import random
import time
from statistics import median, quantiles
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests.gateway.client import CHAT, Client
from tests.gateway.client import request as http_request
from tests.gateway.plain import compared, request
from tests.gateway.test_comparison_under_load import STREAMS, TROUBLES, streams
from tests.scripted import ScriptedUpstream

ARMS: dict[str, dict[str, Any]] = {
    "off": {},
    "holdout": {"holdout": 0.1, "holdout_patience_seconds": 0.5},
    "shadow": {"shadow": 1.0, "shadow_per_minute": 6000.0, "shadow_in_flight": 10000},
}


async def measure(arm: str, trouble: str, rounds: int) -> list[float]:
    """Return the time to the first byte of each stream."""
    found: list[float] = []
    closing = (b"Connection", b"close")
    asked = http_request("POST", CHAT, closing, body=request(stream=True))
    async with (
        ScriptedUpstream(streams) as spec,
        ScriptedUpstream(scripts={CHAT: TROUBLES[trouble]}) as plain,
        compared(spec.url, plain.url, **ARMS[arm]) as proxy,
    ):
        for _ in range(rounds):
            found += await asyncio.gather(*(_timed(proxy.url, asked) for _ in range(STREAMS)))
    return found


async def _timed(url: str, asked: bytes) -> float:
    """Send a request; return the seconds to the first byte of its answer."""
    async with await Client.connect(url) as client:
        began = time.perf_counter()
        await client.send(asked)
        await client._reader.readexactly(1)
        seconds = time.perf_counter() - began
        while await client._reader.read(65536):
            pass
        return seconds


def main() -> None:
    """Measure every arm and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    plan = [(arm, trouble) for arm in ARMS for trouble in TROUBLES] * options.repeats
    random.shuffle(plan)
    found: dict[tuple[str, str], list[list[float]]] = {}
    console = Console()
    with Progress(console=console) as progress:
        for arm, trouble in progress.track(plan, description="200 streams at a time"):
            seconds = asyncio.run(measure(arm, trouble, options.rounds))
            found.setdefault((arm, trouble), []).append(seconds)
    table = Table(title="time to the first byte, ms: median of repeats (least to greatest)")
    for name in ("plain upstream", "comparison", "p50", "p99"):
        table.add_column(name)
    for trouble in TROUBLES:
        for arm in ARMS:
            p50 = [median(one) * 1000 for one in found[arm, trouble]]
            p99 = [quantiles(one, n=100)[98] * 1000 for one in found[arm, trouble]]
            table.add_row(trouble, arm, _spread(p50), _spread(p99))
    console.print(table)


def _spread(values: list[float]) -> str:
    return f"{median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


if __name__ == "__main__":
    main()
