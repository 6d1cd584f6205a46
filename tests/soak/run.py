"""One run: upstreams, proxy and clients; load in legs, with a rest after each."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.ledger import Series, counted, differences
from tests.soak.mix import Batch, batches
from tests.soak.player import Player, Tally
from tests.soak.proxy import ProxyProcess, proxy
from tests.soak.refusals import REFUSALS, refused
from tests.soak.servers import UpstreamProcess, upstreams
from tests.soak.watch import Rest, Watch

LEGS = 4
"""The first one warms up; memory is compared after it and after the last."""

_SETTLES_IN = 15.0  # seconds in which what has ended has to be counted
_REFUSALS_EVERY = 1.0  # seconds
_DOWN = (0.1, 1.0)  # seconds that a killed upstream stays down


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes:
        seconds: of load.
        seed: the same seed gives the same orders.
        clients: at a time.
        kill_every: seconds between two killed upstreams.
        workers: processes of the proxy that share the load.
    """

    seconds: float = 3600.0
    seed: int = 1
    clients: int = 24
    kill_every: float = 20.0
    workers: int = 1


@dataclass
class Result:
    """What was found."""

    plan: Plan
    tally: Tally
    differences: list[str]
    """Between what clients saw and what was counted."""
    faults: list[str]
    """Of the processes: memory, files, logs, exit codes."""
    series: int
    """That were compared."""
    rests: list[Rest]
    growth: float
    most_growth: float
    files_at_start: int
    most_resident_bytes: int
    kills: int

    @property
    def passed(self) -> bool:
        return not (self.tally.problems or self.differences or self.faults)


@dataclass
class Run:
    """A run under way."""

    plan: Plan
    tell: Callable[[float, str], None]
    """Gets the seconds of load so far, and what happens."""
    folder: Path
    """For logs."""
    tally: Tally = field(default_factory=Tally)
    loaded: float = 0.0
    """Seconds of load in the legs that are over."""

    async def go(self) -> Result:
        """Run all of it."""
        with upstreams(self.folder) as servers:
            every = list(servers.values())
            await asyncio.gather(*(one.start() for one in every))
            with proxy(every, self.folder, self.plan.workers) as running:
                return await self._load(running, every)

    async def _load(self, running: ProxyProcess, servers: list[UpstreamProcess]) -> Result:
        await _kinds_known(running, servers)
        before = counted(await running.metrics())
        watch = Watch(running)
        await watch.begin()
        made = batches(self.plan.seed)
        for _ in range(LEGS):
            await self._leg(running, servers, watch, made)
            await watch.rest(self.loaded)
        found = await self._settled(running, before)
        exit_code = running.stop()
        faults = watch.faults() + running.troubles()
        if exit_code:
            faults.append(f"the proxy ended with status {exit_code}")
        faults += filter(None, [one.stop() for one in servers])
        return Result(
            plan=self.plan,
            tally=self.tally,
            differences=found,
            faults=faults,
            series=len(self.tally.ledger.expected),
            rests=watch.rests,
            growth=watch.growth,
            most_growth=watch.most_growth,
            files_at_start=watch.files_at_start,
            most_resident_bytes=max(watch.under_load),
            kills=sum(one.kills for one in servers),
        )

    async def _leg(
        self,
        running: ProxyProcess,
        servers: list[UpstreamProcess],
        watch: Watch,
        made: Iterator[Batch],
    ) -> None:
        length = self.plan.seconds / LEGS
        leg = _Leg(self, running, servers, random.Random(f"{self.plan.seed}:{self.loaded}"), length)
        beside = [asyncio.create_task(watch.sample()), asyncio.create_task(self._tell(leg.end))]
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.plan.clients):
                    group.create_task(leg.client(made))
                group.create_task(leg.refuse())
                group.create_task(leg.kill())
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
        self.loaded += length

    async def _tell(self, end: float) -> None:
        while True:
            count = sum(self.tally.kinds.values())
            wrong = len(self.tally.problems)
            passed = self.plan.seconds / LEGS - max(end - time.monotonic(), 0)
            self.tell(self.loaded + passed, f"{count} requests, {wrong} faults")
            await asyncio.sleep(0.25)

    async def _settled(self, running: ProxyProcess, before: Counter[Series]) -> list[str]:
        """Compare, once what was still being counted is."""
        deadline = time.monotonic() + _SETTLES_IN
        while True:
            after = counted(await running.metrics())
            found = differences(self.tally.ledger.expected, before, after)
            if not found or time.monotonic() > deadline:
                return found
            await asyncio.sleep(0.2)


class _Leg:
    """What goes on in one leg, until its time is over."""

    def __init__(
        self,
        run: Run,
        running: ProxyProcess,
        servers: list[UpstreamProcess],
        dice: random.Random,
        seconds: float,
    ) -> None:
        self._run = run
        self._proxy = running
        self._servers = servers
        self._dice = dice
        self.end = time.monotonic() + seconds

    @property
    def _is_over(self) -> bool:
        return time.monotonic() >= self.end

    async def client(self, made: Iterator[Batch]) -> None:
        """Play one batch after the other."""
        by_name = {one.name: one for one in self._servers}
        player = Player(self._proxy.url, by_name, self._run.tally, self._dice)
        while not self._is_over:
            await player.play(next(made))
        await player.leave("close")

    async def refuse(self) -> None:
        """Ask for what specmeter answers itself."""
        tally = self._run.tally
        while not self._is_over:
            refusal = self._dice.choice(REFUSALS)
            tally.problems += await refused(self._proxy.url, refusal, tally.ledger)
            await asyncio.sleep(_REFUSALS_EVERY)

    async def kill(self) -> None:
        """Kill an upstream from time to time, and start it again."""
        while True:
            pause = self._run.plan.kill_every * self._dice.uniform(0.5, 1.5)
            if time.monotonic() + pause >= self.end:
                return
            await asyncio.sleep(pause)
            one = self._dice.choice(self._servers)
            await one.kill()
            await asyncio.sleep(self._dice.uniform(*_DOWN))
            await one.start()


async def _kinds_known(running: ProxyProcess, servers: list[UpstreamProcess]) -> None:
    """Wait until the proxy has found out what its upstreams are: it asks vLLM for numbers."""
    async with asyncio.timeout(_SETTLES_IN):
        while True:
            known = (await running.metrics()).by("upstream_info", "upstream")
            if len(known) == len(servers):
                return
            await asyncio.sleep(0.1)
