"""Holdout and shadow of all upstreams: who is compared with whom, and what is done with it."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import aiohttp

from specmeter.asking import Answer, AskError, Server, ask
from specmeter.gateway.comparisons import Comparisons
from specmeter.gateway.exchange import Exchange, Replayable
from specmeter.gateway.holdout import Holdout
from specmeter.gateway.holdout import Result as HoldoutResult
from specmeter.learning import Learning, PlainCompletion
from specmeter.meter.completion import Completion
from specmeter.meter.plain_meter import PlainMeter
from specmeter.output_text import output_text
from specmeter.reading import MIN_DECODE_TOKENS
from specmeter.shadow.comparison import Comparison
from specmeter.shadow.replayer import Finished, Replayer
from specmeter.shadow.replayer import Result as ReplayResult
from specmeter.shadow.request import can_be_replayed, replay_of
from specmeter.speedup.baseline import Source
from specmeter.upstream.upstreams import OTHER_MODEL, Upstream, Upstreams


class PlainTraffic:
    """What plain upstreams are asked for, and what is learned from it.

    Args:
        upstreams: All of them.
        learning: Gets completions of plain upstreams.
        meter: Counts.
    """

    def __init__(self, upstreams: Upstreams, learning: Learning, meter: PlainMeter) -> None:
        self._learning = learning
        self._meter = meter
        self._upstreams = {one.name: one for one in upstreams.all}
        holdouts: dict[str, Holdout] = {}
        self._replayers: dict[str, Replayer] = {}
        for upstream in upstreams.all:
            if not upstream.settings.plain:
                continue
            plain = upstreams.named(upstream.settings.plain)
            if upstream.settings.holdout:
                meter.expect_holdout(upstream.name, HoldoutResult)
                on_result = partial(meter.count_holdout, upstream.name)
                clock = upstream.loop.time
                holdouts[upstream.name] = Holdout(upstream, plain, on_result, clock)
            if upstream.settings.shadow:
                meter.expect_replays(upstream.name, ReplayResult)
                self._replayers[upstream.name] = Replayer(upstream, plain, self)
        self.comparisons = Comparisons(self._prove, holdouts, self._replayers)
        self._proofs: set[asyncio.Task[None]] = set()

    def expect_model(self, upstream: str, model_name: str) -> None:
        """Create the series of a model."""
        if upstream in self._replayers:
            self._meter.expect_checks(upstream, model_name)

    async def start(self) -> None:
        """Begin to replay."""
        for replayer in self._replayers.values():
            await replayer.start()

    async def stop(self) -> None:
        """Give up what is under way."""
        for replayer in self._replayers.values():
            await replayer.stop()
        for proof in self._proofs:
            proof.cancel()
        await asyncio.gather(*self._proofs, return_exceptions=True)

    def _prove(self, holdout: Holdout, endpoint: str, replayable: Replayable) -> None:
        if not can_be_replayed(endpoint):
            return
        replay = replay_of(endpoint, replayable.body, 1, holdout.model)
        if replay is None:
            return
        holdout.proving()
        proof = asyncio.create_task(
            _proven(holdout, replayable.target, replay.body), name="specmeter-proof"
        )
        self._proofs.add(proof)
        proof.add_done_callback(self._proofs.discard)

    def stands_for(self, exchange: Exchange, answered: str | None) -> tuple[str, str] | None:
        """Return upstream and model label that a held-out request would have counted for.

        Args:
            exchange: The request.
            answered: The model as the plain upstream names it.
        """
        upstream = self._upstreams.get(exchange.held_out_of)
        if upstream is None:
            return None
        names = [exchange.asked_model, None]
        if not upstream.settings.plain_model:
            names.insert(0, answered)
        labels = (upstream.label_of(name) for name in names)
        label = next((label for label in labels if label != OTHER_MODEL), OTHER_MODEL)
        return upstream.name, label

    def take(self, completion: Completion, build: str) -> None:
        """Learn from a held-out completion."""
        if completion.stands_for is None:
            return
        name, model_name = completion.stands_for
        plain = PlainCompletion(
            reading=completion.reading,
            in_flight=completion.in_flight,
            build=build,
            finished_at=completion.finished_at,
        )
        self._learning.learn_plain(self._upstreams[name], model_name, Source.HOLDOUT, plain)

    def offer(self, upstream: Upstream, exchange: Exchange, completion: Completion) -> None:
        """Have a request replayed that was drawn for it and is worth it."""
        replayer = self._replayers.get(upstream.name)
        replayable, transcript = exchange.replayable, exchange.transcript
        exchange.replayable = None
        tokens = completion.reading.generated or 0
        if replayer is None or replayable is None or transcript is None:
            return
        if tokens < MIN_DECODE_TOKENS:
            return
        replayer.offer(
            Finished(
                endpoint=exchange.endpoint,
                target=replayable.target,
                body=replayable.body,
                tokens=tokens,
                text=output_text(transcript),
                model_name=completion.model_name,
                ended_at=exchange.ended_at,
            )
        )

    # What the replayers tell.

    def on_result(self, upstream: Upstream, result: ReplayResult) -> None:
        """Count what became of a replay."""
        self._meter.count_replay(upstream.name, result)

    def on_replayed(
        self, upstream: Upstream, plain: Upstream, model_name: str, answer: Answer, in_flight: float
    ) -> None:
        """Learn from a replay."""
        plain.learn(None, answer.outcome.fingerprint)
        if answer.reading is not None:
            completion = PlainCompletion(
                reading=answer.reading,
                in_flight=round(in_flight),
                build=plain.build,
                finished_at=time.time(),
            )
            self._learning.learn_plain(upstream, model_name, Source.SHADOW, completion)

    def on_compared(self, upstream: Upstream, model_name: str, comparison: Comparison) -> None:
        """Count a comparison."""
        self._meter.count_comparison(upstream.name, model_name, comparison)


async def _proven(holdout: Holdout, target: str, body: bytes) -> None:
    """Ask the plain upstream for one token, and tell whether it came in time."""
    plain = holdout.plain
    server = Server(plain.target.base_url, plain.key, plain.tls, plain.configured)
    error = ""
    try:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
            await ask(session, server, target, body, timeout_seconds=holdout.patience_seconds)
    except AskError as failure:
        error = f'upstream "{plain.name}": {failure}'
    finally:
        holdout.proved(error)
