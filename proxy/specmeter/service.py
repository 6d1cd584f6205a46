"""The running proxy: parts are built, started, drained and stopped here."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import uvloop
from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector

from specmeter import __version__
from specmeter.admin import admin_app
from specmeter.api.summary import Teller
from specmeter.config import Address, Settings
from specmeter.counting import Counting, Observer
from specmeter.errors import StartupError
from specmeter.gateway.failures import FAILURES
from specmeter.gateway.front import Front
from specmeter.gateway.server import ClientPatience
from specmeter.history.history import History
from specmeter.keys import Keys
from specmeter.learning import Learning
from specmeter.listening import told_plainly
from specmeter.meter import families
from specmeter.meter.meter import Meter
from specmeter.meter.plain_meter import PlainMeter
from specmeter.meter.processes import ProcessesCollector
from specmeter.meter.series import counter_in
from specmeter.meter.speedup_state import SpeedupCollector
from specmeter.meter.state import StateCollector
from specmeter.open_files import raise_limit
from specmeter.plain_traffic import PlainTraffic
from specmeter.recorder import Recorder
from specmeter.serverlog.follower import LogFollower
from specmeter.upstream.probe import Probe
from specmeter.upstream.scraper import Scraper
from specmeter.upstream.shared_load import SharedLoads
from specmeter.upstream.upstreams import OTHER_MODEL, Upstream, Upstreams
from specmeter.workers.team import Team

_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_log = logging.getLogger("specmeter")


class Service:
    """The proxy with both its listeners; made within the loop it runs in.

    Args:
        settings: What it is told to do.
        observers: Get each metered completion.
        patience: How long clients are waited for.
    """

    def __init__(
        self,
        settings: Settings,
        observers: Sequence[Observer] = (),
        patience: ClientPatience | None = None,
    ) -> None:
        self._settings = settings
        self.registry = CollectorRegistry()
        self._loop = loop = asyncio.get_running_loop()
        self._admin_keys = Keys.read(settings.admin_keys_file, "admin_keys_file")
        loads = _shared_loads(settings)
        self.upstreams = Upstreams(
            [
                Upstream(one, loop, None if loads is None else loads.of(index, 0))
                for index, one in enumerate(settings.upstream)
            ]
        )
        self._meter = Meter(self.registry, settings.position_limit)
        self._probe = Probe(loop, self.upstreams.all, settings.probe_seconds, self._on_models)
        self._scraper = Scraper(
            self.upstreams.all, settings.scrape_seconds, settings.position_limit, self.registry
        )
        self.history = History()
        self.observers = [self.history.take, *observers]
        self.learning = Learning(self.upstreams.all, settings.state_file)
        self._plain = PlainTraffic(self.upstreams, self.learning, PlainMeter(self.registry))
        self._teller = Teller(
            self.upstreams,
            self.learning.estimator,
            self.history,
            data_url=lambda: self.data_url,
            clock=time.time,
        )
        self._recorder = Recorder(
            *(loop, self.upstreams, self._meter, self._probe),
            counting=Counting(self._meter, self.learning, self._plain, self.observers),
            plain=self._plain,
            on_missed=self.history.miss,
        )
        self._followers = [self._follower(one) for one in self.upstreams.all if one.settings.log]
        keys = Keys.read(settings.client_keys_file, "client_keys_file")
        self._front = self._front_here(keys, patience) if loads is None else self._team(keys, loads)
        self._stopped = False
        self._admin: web.AppRunner | None = None
        self.data_url = ""
        self.admin_url = ""

    async def start(self) -> None:
        """Listen.

        Raises:
            StartupError: A port cannot be had.
        """
        settings = self._settings
        self.registry.register(StateCollector(self.upstreams.all))
        learning = self.learning
        self.registry.register(SpeedupCollector(learning.estimator, learning.bounds, time.time))
        await learning.start()
        if isinstance(self._front, Team):
            self.registry.register(ProcessesCollector(self._front.pids))
        else:
            ProcessCollector(namespace="specmeter", registry=self.registry)
        for upstream in self.upstreams.all:
            self._meter.expect_upstream(upstream.name, FAILURES)
            self._expect_models(upstream)
        try:
            self.data_url = await self._listen(settings.listen_address)
            self.admin_url = await self._listen_admin(settings.admin_address)
            await self._front.start()
        except BaseException:
            await self.stop()
            raise
        await self._probe.start()
        await self._plain.start()
        for follower in self._followers:
            await follower.start()
        await self._scraper.start()

    async def stop(self) -> None:
        """Take no more, let what is under way end within `drain_seconds`, and stop; once."""
        if self._stopped:
            return
        self._stopped = True
        await self._front.stop()
        self._recorder.catch_up()
        await self._plain.stop()
        await self._recorder.settle()
        for follower in self._followers:
            await follower.stop()
        for upstream in self.upstreams.all:
            self._recorder.let_go(upstream, all_of_them=True)
        await self.learning.stop()
        await self._probe.stop()
        await self._scraper.stop()
        self.upstreams.close()
        if self._admin is not None:
            await self._admin.cleanup()

    def _front_here(self, keys: Keys | None, patience: ClientPatience | None) -> Front | Team:
        return Front(
            *(self._loop, self._settings, self.upstreams),
            *(self._recorder.take, self._probe.ask_again),
            keys=keys,
            plain=self._plain.comparisons,
            patience=patience,
        )

    def _team(self, keys: Keys | None, loads: SharedLoads) -> Front | Team:
        restarts = counter_in(self.registry, families.WORKER_RESTARTS)
        restarts.add((), 0)
        return Team(
            *(self._loop, self._settings, self.upstreams, loads),
            keys=keys,
            on_exchange=self._recorder.take,
            ask_models_again=self._probe.ask_again,
            on_held_out=self._plain.count_holdout,
            has_place=self._plain.has_place,
            on_restart=partial(restarts.add, ()),
        )

    async def _catch_up(self) -> None:
        """Count what has ended so far, wherever that was."""
        await self._front.catch_up()
        self._recorder.catch_up()

    def _follower(self, upstream: Upstream) -> LogFollower:
        return LogFollower(
            upstream.name,
            Path(upstream.settings.log),
            on_logged=partial(self._recorder.take_logged, upstream),
            on_tick=partial(self._recorder.let_go, upstream),
            on_configured=upstream.tell_configured,
        )

    def _on_models(self, upstream: Upstream) -> None:
        self._expect_models(upstream)
        self._front.tell_news()

    def _expect_models(self, upstream: Upstream) -> None:
        for model in (*sorted(upstream.models), OTHER_MODEL):
            self._meter.expect_model(upstream.name, model)
            self._plain.expect_model(upstream.name, model)
            if (given := self.learning.given.get(upstream.name)) is not None:
                self._meter.expect_baseline(upstream.name, model, given)

    async def _listen(self, address: Address) -> str:
        with told_plainly("listen", address):
            port = await self._front.listen(address)
        return _url(address, port)

    async def _listen_admin(self, address: Address) -> str:
        self._admin = web.AppRunner(
            admin_app(
                *(self.registry, self.upstreams, self._teller),
                catch_up=self._catch_up,
                takes_clients=lambda: self._front.is_ready,
                keys=self._admin_keys,
            ),
            access_log=None,
            shutdown_timeout=1.0,
        )
        await self._admin.setup()
        with told_plainly("admin", address):
            await web.TCPSite(self._admin, address.host, address.port).start()
        return _url(address, self._admin.addresses[0][1])


def _shared_loads(settings: Settings) -> SharedLoads | None:
    """Return memory to count requests in that are under way, if several processes carry some."""
    if settings.workers == 1:
        return None
    if sys.platform != "linux":
        raise StartupError(
            f"workers: {settings.workers} need Linux, which shares connections out among them: "
            "write 1"
        )
    return SharedLoads(len(settings.upstream), settings.workers + 1)


def _url(address: Address, port: int) -> str:
    return f"http://{Address(address.host, port).reachable()}"


async def _run(settings: Settings) -> None:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in _STOPPING:
        if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue  # nohup
        # The loop's own way takes the handler away again before the process has ended.
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stopping.set))
    service = Service(settings)
    if not await _started(service, stopping):
        return
    # What is here by now stays. Left to the collector, it would be walked through in every full
    # collection, and for these 11 ms no byte would move.
    gc.collect()
    gc.freeze()
    _log.info("specmeter %s forwards %s", __version__, service.data_url)
    for upstream in service.upstreams.all:
        _log.info("upstream %s is %s", upstream.name, upstream.target.base_url)
    _log.info(
        "point clients at %s/v1; see it live at %s, metrics are at %s/metrics",
        *(service.data_url, service.admin_url, service.admin_url),
    )
    await stopping.wait()
    _log.info("stopping: running answers have %g s", settings.drain_seconds)
    await service.stop()
    for number in _STOPPING:
        signal.signal(number, signal.SIG_IGN)  # else one more would kill what has all but ended


async def _started(service: Service, stopping: asyncio.Event) -> bool:
    """Start; return whether that came to its end before it was told to stop."""
    starting = asyncio.ensure_future(service.start())
    told = asyncio.ensure_future(stopping.wait())
    await asyncio.wait((starting, told), return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if starting.done():
        starting.result()
        return True
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    await service.stop()
    return False


def serve(settings: Settings) -> int:
    """Run the proxy until it is told to stop (SIGTERM, SIGINT, SIGHUP); return the exit code.

    Raises:
        StartupError: It cannot start.
    """
    raise_limit()
    uvloop.run(_run(settings))
    return 0
