"""Runs traffic past a baseline and hands out the sums of its completions."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from specmeter.speedup.baseline import LEARNED, Origin, Sample, Source
from specmeter.speedup.choice import Baselines
from specmeter.speedup.fixed import FixedBaseline
from specmeter.speedup.interval import Sums
from specmeter.speedup.measured import MeasuredBaseline
from specmeter.speedup.strata import Place
from specmeter.speedup.table import Repeat, Table, points_of
from tests.benchmarks.speedup_world import DAY, HOUR, Drift, Request, Servers, noise

FIXED_ERROR = 0.1
WARM_UP = 0.5 * DAY
_WINDOWS_A_DAY = 8
_ORIGIN = Origin()


@dataclass(frozen=True)
class Traffic:
    """How much there is, and what is looked at."""

    a_day: float = 8000.0
    """Requests."""
    share: float = 0.1
    """Of them: those that the holdout or the shadow takes."""
    shortest: int = 50
    longest: int = 150
    """Completions in a window."""
    age: float = HOUR
    """How old measurements and numbers are when a window begins, at most."""


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
        self._baselines = Baselines()
        self._baselines.drafts = True

    def windows(self) -> Iterator[Sums]:
        """Yield the windows of a day after a warm-up, each somewhere in its own three hours."""
        every = DAY / _WINDOWS_A_DAY
        for index in range(_WINDOWS_A_DAY):
            length = self._draw.randint(self._traffic.shortest, self._traffic.longest)
            slack = max(every - length * self._gap, 0.0)
            self.idle_until(WARM_UP + index * every + self._draw.uniform(0, slack))
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
        while (at := self.at + self._draw.expovariate(1) * gap) < until:
            self.at = at
            request = self.servers.request(self._draw)
            self._learn(request, self._plain(request))

    def complete(self) -> Sums:
        """Let the next request that is compared with the baseline complete."""
        draw, source = self._draw, self._source
        while True:
            self.at += draw.expovariate(1) * self._gap
            request = self.servers.request(draw)
            if source is not Source.HOLDOUT or draw.random() >= self._traffic.share:
                break
            self._learn(request, self._plain(request))
        spent = self.servers.spent_seconds(request, draw) * self._drift(self.at) * noise(draw)
        found = self._baselines.plain_speed(_place(request), request.tokens, self.at, _ORIGIN)
        if source is Source.SHADOW and draw.random() < self._traffic.share:
            self._learn(request, self._plain(request))
        elif source is Source.UNDRAFTED and not request.acceptance:
            self._learn(request, spent)
        if found is None:
            return Sums()
        return Sums.of(spent, request.tokens * found.seconds_per_token, found.relative_error)

    def _plain(self, request: Request) -> float:
        return self.servers.plain_seconds(request) * self._drift(self.at) * noise(self._draw)

    def _learn(self, request: Request, seconds: float) -> None:
        sample = Sample(_place(request).stratum, seconds, request.tokens, self.at)
        self._baselines.learn(self._source, sample, _ORIGIN)

    def _give(self, at: float) -> None:
        """Measure a plain server three times a cell, or get a number that is as good as it says."""
        if self._source is Source.MEASURED:
            cells = {
                (context, load): [self._repeat(context, load, at) for _ in range(3)]
                for context in (128.0, 2048.0, 8192.0, 32768.0)
                for load in (1, 2, 4)
            }
            table = Table(points_of(cells), max(at, 0.0))
            self._baselines.give(MeasuredBaseline(table), _ORIGIN)
        else:
            right = self.servers.mean_plain_token() * self._drift(at)
            seconds = right * (1 + FIXED_ERROR * self._draw.gauss(0, 1))
            self._baselines.give(FixedBaseline(seconds, at, FIXED_ERROR), _ORIGIN)

    def _repeat(self, context: float, load: int, at: float) -> Repeat:
        seconds = 255 * self.servers.plain_token(context, load)
        return Repeat(seconds * self._drift(at) * noise(self._draw), 255)


def _place(request: Request) -> Place:
    return Place.of(request.context, request.in_flight)
