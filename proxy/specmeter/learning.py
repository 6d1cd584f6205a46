"""Compares completions with their baselines, and keeps what is learned across restarts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from specmeter.errors import ConfigError
from specmeter.meter.completion import Completion
from specmeter.reading import Reading
from specmeter.speedup.baseline import Origin, Sample, Source
from specmeter.speedup.bound import plain_bound
from specmeter.speedup.estimator import Estimator
from specmeter.speedup.store import Store, encode
from specmeter.speedup.strata import Stratum, context_tokens
from specmeter.speedup.table_file import load_table
from specmeter.upstream.upstreams import Upstream

SAVE_SECONDS = 60.0
"""How much may be forgotten if the process is killed."""

_log = logging.getLogger("specmeter")


class PlainCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """A completion of a plain server."""

    reading: Reading
    in_flight: int | None
    """Requests that it worked on at the same time."""
    build: str
    finished_at: float
    """Unix time."""


class Learning:
    """The estimator of the running proxy, with the baselines that the configuration gives.

    Args:
        upstreams: All of them; those that are another's plain one are compared with nothing.
        state_file: Where what was learned is kept; empty for nowhere.

    Raises:
        ConfigError: A baseline file cannot be used.
    """

    def __init__(self, upstreams: Sequence[Upstream], state_file: str) -> None:
        self.estimator = Estimator()
        self._plain = {one.settings.plain for one in upstreams if one.settings.plain}
        self._store = Store(Path(state_file)) if state_file else None
        self._drafting: set[str] = set()
        """Plain upstreams that are none."""
        self._saving: asyncio.Task[None] | None = None
        self._told = ""
        """What the log was last told of why they cannot be kept."""
        self.bounds: dict[str, float] = {}
        """Tokens per second that plain decoding cannot exceed, by upstream."""
        self.given: dict[str, Source] = {}
        """The baseline that is known from the start, by upstream."""
        for upstream in upstreams:
            self._take_settings(upstream)

    def _take_settings(self, upstream: Upstream) -> None:
        settings = upstream.settings
        if settings.plain_tokens_per_second:
            seconds = 1 / settings.plain_tokens_per_second
            self.estimator.give_number(upstream.name, seconds, time.time())
            self.given[upstream.name] = Source.FIXED
        if settings.baseline_file:
            try:
                table = load_table(Path(settings.baseline_file))
            except ConfigError as error:
                raise ConfigError(f'upstream "{upstream.name}": {error}') from None
            self.estimator.give_table(upstream.name, table)
            self.given[upstream.name] = Source.MEASURED
        if settings.weights_gb:
            bound = plain_bound(settings.memory_bandwidth_gb_s, settings.weights_gb)
            self.bounds[upstream.name] = bound

    async def start(self) -> None:
        """Take up what was learned before."""
        if self._store is None:
            return
        learnings, warning = await asyncio.to_thread(self._store.load)
        if warning:
            _log.warning("%s", warning)
        self.estimator.resume(learnings)
        self._saving = asyncio.create_task(self._go_on(self._store), name="specmeter-learning")

    async def stop(self) -> None:
        """Keep what was learned."""
        if self._store is None or self._saving is None:
            return
        self._saving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._saving
        await self._save(self._store)

    def compare(self, upstream: Upstream, completion: Completion) -> None:
        """Tell a completion what it would have taken without speculation, if that is known."""
        if upstream.name not in self._plain:
            completion.estimate = self.estimator.take(completion, Origin(build=upstream.build))

    def learn_plain(
        self, upstream: Upstream, model_name: str, source: Source, plain: PlainCompletion
    ) -> None:
        """Learn from a completion that the plain upstream gave instead, or once more.

        Args:
            upstream: The one that speculates.
            model_name: Its label.
            source: `HOLDOUT` or `SHADOW`.
            plain: The completion; one that says too little teaches nothing.
        """
        reading = plain.reading
        if (timed := reading.timed) is None:
            return
        tokens, seconds = timed
        if reading.drafted:
            self._warn_of_drafts(upstream.settings.plain)
            return
        stratum = Stratum.of(context_tokens(reading.prompt, reading.generated), plain.in_flight)
        sample = Sample(stratum, seconds, tokens, plain.finished_at)
        model = (upstream.name, model_name)
        self.estimator.learn_plain(model, source, sample, Origin(build=plain.build))

    def _warn_of_drafts(self, plain: str) -> None:
        if plain not in self._drafting:
            self._drafting.add(plain)
            _log.warning(
                "upstream %s is to be plain, but drafts: it cannot be compared with. "
                "Start it without speculation",
                plain,
            )

    async def _go_on(self, store: Store) -> None:
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            await self._save(store)

    async def _save(self, store: Store) -> None:
        # Encoded here, as the estimator goes on learning meanwhile.
        warning = await asyncio.to_thread(store.save, encode(self.estimator.learnings()))
        if warning and warning != self._told:
            _log.warning("%s", warning)
        elif self._told and not warning:
            _log.info("learned baselines are written again")
        self._told = warning
