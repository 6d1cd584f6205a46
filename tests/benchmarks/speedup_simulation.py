"""Windows of traffic past a server whose true speedup is known: does the interval cover it?"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from statistics import fmean, median, stdev

from specmeter.speedup.baseline import Source
from specmeter.speedup.interval import Speedup, Sums, Verdict, speedup, verdict
from specmeter.speedup.recent import LATEST
from tests.benchmarks.speedup_machine import DAY, DRIFTS
from tests.benchmarks.speedup_traffic import Traffic, World
from tests.benchmarks.speedup_world import Servers

WITHIN = 200
"""Completions after which a drop has to have been seen."""

_USUAL = Traffic()


@dataclass(frozen=True)
class Scenario:
    """What is simulated."""

    source: Source
    drift: str = "none"
    truth: float = 1.5
    traffic: Traffic = _USUAL
    lengths: float = 0.8
    crowd: float = 0.04

    def servers(self) -> Servers:
        """The servers, as fast as `truth` says."""
        undrafted = 0.15 if self.source is Source.UNDRAFTED else 0.0
        return _servers(undrafted, self.lengths, self.crowd, self.truth)


@lru_cache
def _servers(undrafted: float, lengths: float, crowd: float, truth: float) -> Servers:
    return Servers(undrafted=undrafted, lengths=lengths, crowd=crowd).with_speedup(truth)


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
    bias_error: float
    """Standard error of `bias`, as if windows were independent of each other."""
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
    ratios = [result.ratio / truth for result in results]
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
        bias=fmean(ratios) - 1,
        bias_error=stdev(ratios) / math.sqrt(len(ratios)),
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


def said_slower(
    source: Source, seed: int, runs: int, *, before: float = 1.2, after: float = 0.9
) -> list[int | None]:
    """Let the speedup change, once in each run.

    Returns:
        For each run, after how many completions the latest ones were said to be slower; `None` if
        never within 200.
    """
    draw = Random(f"{seed} {source} {before} {after}")
    return [_said_slower(source, draw, before, after) for _ in range(runs)]


def _said_slower(source: Source, draw: Random, before: float, after: float) -> int | None:
    first, then = (Scenario(source, truth=truth).servers() for truth in (before, after))
    world = World(first, source, _USUAL, DRIFTS["none"](draw), draw)
    world.idle_until(draw.uniform(0.5, 1.5) * DAY)
    latest = deque((world.complete() for _ in range(LATEST)), maxlen=LATEST)
    world.servers = then
    for passed in range(1, WITHIN + 1):
        latest.append(world.complete())
        if passed % 5 == 0 and verdict(sum(latest, Sums())) is Verdict.SLOWER:
            return passed
    return None
