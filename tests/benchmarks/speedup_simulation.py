"""Windows of traffic past a server whose true speedup is known: does the interval cover it?"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from statistics import median

from specmeter.speedup.baseline import Source
from specmeter.speedup.interval import Speedup, Sums, Verdict, speedup, verdict
from specmeter.speedup.recent import LATEST
from tests.benchmarks.speedup_traffic import Traffic, World
from tests.benchmarks.speedup_world import DAY, DRIFTS, Servers

DROP_WITHIN = 200


_USUAL = Traffic()


@dataclass(frozen=True)
class Scenario:
    """What is simulated."""

    source: Source
    drift: str = "none"
    truth: float = 1.5
    traffic: Traffic = _USUAL
    lengths: float = 0.8

    def servers(self) -> Servers:
        """The servers, as fast as `truth` says."""
        undrafted = 0.15 if self.source is Source.UNDRAFTED else 0.0
        return _servers(undrafted, self.lengths, self.truth)


@lru_cache
def _servers(undrafted: float, lengths: float, truth: float) -> Servers:
    return Servers(undrafted=undrafted, lengths=lengths).with_speedup(truth)


@dataclass(frozen=True)
class Outcome:
    """What came of some windows."""

    windows: int
    covered: float
    """Share whose interval holds the truth."""
    plain_delta: float
    """The same for an interval without any of the corrections."""
    below: float
    """Share whose interval lies wholly below the truth."""
    above: float
    bias: float
    """Mean of speedup over truth, minus 1."""
    half: float
    """Median of half the width, over speedup."""
    verdicts: dict[Verdict, float]


def simulate(scenario: Scenario, seed: int, windows: int) -> Outcome:
    """Simulate so many windows."""
    draw = Random(f"{seed} {scenario}")
    servers = scenario.servers()
    found: list[Sums] = []
    while len(found) < windows:
        drift = DRIFTS[scenario.drift](draw)
        found += World(servers, scenario.source, scenario.traffic, drift, draw).windows()
    return _outcome(found[:windows], scenario.truth)


def _outcome(found: Sequence[Sums], truth: float) -> Outcome:
    results = [result for sums in found if (result := speedup(sums)) is not None]
    ends = [_ends(result) for result in results]
    delta = [_plain_delta(sums) for sums in found]
    count = len(found)
    verdicts = [verdict(sums) for sums in found]
    return Outcome(
        windows=count,
        covered=sum(low <= truth <= high for low, high in ends) / count,
        plain_delta=sum(low <= truth <= high for low, high in delta) / count,
        below=sum(high < truth for _, high in ends) / count,
        above=sum(low > truth for low, _ in ends) / count,
        bias=sum(result.ratio for result in results) / len(results) / truth - 1,
        half=median(
            (high - low) / 2 / result.ratio
            for (low, high), result in zip(ends, results, strict=True)
        ),
        verdicts={one: verdicts.count(one) / count for one in Verdict},
    )


def _ends(result: Speedup) -> tuple[float, float]:
    if result.interval is None:
        return 0.0, math.inf
    return result.interval.low, result.interval.high


def _plain_delta(sums: Sums) -> tuple[float, float]:
    """Return the textbook's interval: n/(n - 1), 1.96, the baseline's error in quadrature."""
    ratio = sums.plain / sums.spent
    squares = sums.plain_squared - 2 * ratio * sums.cross + ratio**2 * sums.spent_squared
    sampling = math.sqrt(max(squares, 0.0) * sums.count / (sums.count - 1)) / sums.spent
    half = 1.96 * math.hypot(sampling, ratio * sums.doubt / sums.plain)
    return ratio - half, ratio + half


def drops(source: Source, seed: int, runs: int) -> list[int | None]:
    """Let the speedup drop from 1.2 to 0.9, once in each run.

    Returns:
        For each run, after how many completions the latest ones were said to be slower; `None` if
        never within 200.
    """
    draw = Random(f"{seed} drop {source}")
    return [_drop(source, draw) for _ in range(runs)]


def _drop(source: Source, draw: Random) -> int | None:
    before, after = (Scenario(source, truth=truth).servers() for truth in (1.2, 0.9))
    world = World(before, source, _USUAL, DRIFTS["none"](draw), draw)
    world.idle_until(draw.uniform(0.5, 1.5) * DAY)
    latest = deque((world.complete() for _ in range(LATEST)), maxlen=LATEST)
    world.servers = after
    for passed in range(1, DROP_WITHIN + 1):
        latest.append(world.complete())
        if passed % 5 == 0 and verdict(sum(latest, Sums())) is Verdict.SLOWER:
            return passed
    return None
