"""Runs traffic past a baseline and hands out the sums of its completions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from specmeter.speedup.baseline import LEARNED, Origin, Sample, Source
from specmeter.speedup.choice import Baselines
from specmeter.speedup.fixed import FixedBaseline
from specmeter.speedup.interval import Sums
from specmeter.speedup.measured import MeasuredBaseline
from specmeter.speedup.strata import Conditions
from specmeter.speedup.table import Repeat, Table, points_of
from tests.benchmarks.speedup_machine import DAY, HOUR, Drift, noise
from tests.benchmarks.speedup_world import LOADS, Request, Servers

FIXED_ERROR = 0.1
_LOAD_LASTS = 10
"""Requests, on average."""
_ORIGIN = Origin()


@dataclass(frozen=True)
class Traffic:
    """How much there is, and what is looked at."""

    a_day: float = 8000.0
    """Requests."""
    share: float = 0.1
    """Of them: those that the holdout or the shadow takes."""
    plain_loads: tuple[int, ...] = ()
    """Requests in flight on the plain server, each as likely; as many as live ones if empty."""
    stalls: float = 0.0
    """Share of completions that take several times as long."""
    table_contexts: tuple[float, ...] = (128.0, 2048.0, 8192.0, 32768.0)
    table_loads: tuple[int, ...] = (1, 2, 4, 8)
    """What a plain server was measured at."""
    age: float = HOUR
    """How old measurements and numbers are when a window begins, at most."""
    seen: int = 500
    """Completions that were compared with a table before a window begins."""
    warm_up: float = 0.5 * DAY
    """Seconds in which live baselines learn before the first window."""
    windows: int = 8
    """In a day."""
    shortest: int = 50
    longest: int = 150
    """Completions in a window."""


class World:
    """One machine, its traffic and a baseline that gets to know it."""

    def __init__(
        self, servers: Servers, source: Source, traffic: Traffic, drift: Drift, draw: Random
    ) -> None:
        self.servers = servers
        self.at = 0.0
        self._source = source
        self._traffic = traffic
        self._drift = drift
        self._draw = draw
        self._gap = DAY / traffic.a_day
        self._load = draw.choice(LOADS)
        self._baselines = Baselines()
        self._baselines.drafts = True

    def windows(self) -> Iterator[Sums]:
        """Yield the windows of a day after the warm-up, each somewhere in its own part of it."""
        every = DAY / self._traffic.windows
        for index in range(self._traffic.windows):
            length = self._draw.randint(self._traffic.shortest, self._traffic.longest)
            slack = max(every - length * self._gap, 0.0) if self._traffic.warm_up else 0.0
            self.idle_until(self._traffic.warm_up + index * every + self._draw.uniform(0, slack))
            sums = Sums()
            while sums.count < length:
                sums += self.complete()
            yield sums

    def idle_until(self, until: float) -> None:
        """Let the time pass: nobody looks, but live baselines learn."""
        if self._source not in LEARNED:
            self.at = max(self.at, until)
            self._give(self.at - self._draw.uniform(0, self._traffic.age))
            return
        undrafted = self._source is Source.UNDRAFTED
        gap = self._gap / (self.servers.undrafted if undrafted else self._traffic.share)
        while (after := self._draw.expovariate(1) * gap) < until - self.at:
            self._learn_plain(self._next(after))

    def complete(self) -> Sums:
        """Let the next request that is compared with the baseline complete."""
        draw, source = self._draw, self._source
        while True:
            request = self._next(draw.expovariate(1) * self._gap)
            if source is not Source.HOLDOUT or draw.random() >= self._traffic.share:
                break
            self._learn_plain(request)
        spent = self.servers.spent_seconds(request, draw) * self._slowness()
        found = self._baselines.plain_speed(_conditions(request), request.tokens, self.at, _ORIGIN)
        if source is Source.SHADOW and draw.random() < self._traffic.share:
            self._learn_plain(request)
        elif source is Source.UNDRAFTED and not request.acceptance:
            self._learn(request, spent)
        if found is None:
            return Sums()
        return Sums.of(spent, request.tokens * found.seconds_per_token, found.relative_error)

    def _next(self, after: float) -> Request:
        """Return a request that comes so many seconds later; the load changes now and then."""
        self.at += after
        if self._draw.random() > math.exp(-after / self._gap / _LOAD_LASTS):
            self._load = self._draw.choice(LOADS)
        return self.servers.request(self._draw, self._load)

    def _slowness(self) -> float:
        return self._drift(self.at) * noise(self._draw, self._traffic.stalls)

    def _learn_plain(self, request: Request) -> None:
        loads = self._traffic.plain_loads
        if loads and self._source is not Source.UNDRAFTED:
            request = self.servers.elsewhere(request, self._draw.choice(loads), self._draw)
        self._learn(request, self.servers.plain_seconds(request) * self._slowness())

    def _learn(self, request: Request, seconds: float) -> None:
        sample = Sample(_conditions(request).stratum, seconds, request.tokens, self.at)
        self._baselines.learn(self._source, sample, _ORIGIN)

    def _give(self, at: float) -> None:
        """Measure a plain server three times a cell, or get a number that is as good as it says."""
        if self._source is Source.MEASURED:
            self._baselines.give(self._measured(at), _ORIGIN)
        else:
            right = self.servers.mean_plain_token() * self._drift(at)
            seconds = right * (1 + FIXED_ERROR * self._draw.gauss(0, 1))
            self._baselines.give(FixedBaseline(seconds, at, FIXED_ERROR), _ORIGIN)

    def _measured(self, at: float) -> MeasuredBaseline:
        cells = {
            (context, load): [self._repeat(context, load, at) for _ in range(3)]
            for context in self._traffic.table_contexts
            for load in self._traffic.table_loads
        }
        baseline = MeasuredBaseline(Table(points_of(cells), max(at, 0.0)))
        for _ in range(self._traffic.seen):
            request = self.servers.request(self._draw, self._draw.choice(LOADS))
            baseline.plain_speed(_conditions(request), request.tokens, at)
        return baseline

    def _repeat(self, context: float, load: int, at: float) -> Repeat:
        # All requests in flight have the same context, as when a baseline is measured.
        seconds = 255 * self.servers.plain_token(context, load, (load - 1) * context)
        return Repeat(seconds * self._drift(at) * noise(self._draw), 255)


def _conditions(request: Request) -> Conditions:
    return Conditions.of(request.context, request.in_flight)
