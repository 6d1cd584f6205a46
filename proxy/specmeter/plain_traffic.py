"""Holdout and shadow of all upstreams: who is compared with whom, and what is done with it."""

from __future__ import annotations

import time

from specmeter.asking import Answer
from specmeter.gateway.comparisons import Comparisons
from specmeter.gateway.exchange import Exchange
from specmeter.gateway.holdout import Result as HoldoutResult
from specmeter.learning import Learning, PlainCompletion
from specmeter.meter.completion import Completion
from specmeter.meter.plain_meter import PlainMeter
from specmeter.output_text import output_text
from specmeter.proofs import Proofs, holdouts_of
from specmeter.reading import MIN_DECODE_TOKENS
from specmeter.shadow.comparison import Comparison
from specmeter.shadow.replayer import Finished, Replayer
from specmeter.shadow.replayer import Result as ReplayResult
from specmeter.speedup.baseline import Source
from specmeter.transcript import Copied
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
        self._proofs = Proofs()
        self._replayers: dict[str, Replayer] = {}
        holdouts = holdouts_of(upstreams, self.count_holdout)
        for name in holdouts:
            meter.expect_holdout(name, HoldoutResult)
        for upstream in upstreams.all:
            if upstream.settings.shadow:
                plain = upstreams.named(upstream.settings.plain)
                meter.expect_replays(upstream.name, ReplayResult)
                self._replayers[upstream.name] = Replayer(upstream, plain, self)
        self.comparisons = Comparisons(self._proofs.prove, holdouts, self._replayers)

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
        await self._proofs.stop()

    def count_holdout(self, upstream: str, result: str) -> None:
        """Count what became of a held-out request."""
        self._meter.count_holdout(upstream, result)

    def has_place(self, upstream: str) -> bool:
        """Whether another request of an upstream can be kept for a replay."""
        replayer = self._replayers.get(upstream)
        return replayer is not None and replayer.has_place

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

    def offer(
        self, upstream: Upstream, exchange: Exchange, copied: Copied, completion: Completion
    ) -> None:
        """Have a request replayed that was drawn for it and is worth it."""
        replayer = self._replayers.get(upstream.name)
        replayable, exchange.replayable = exchange.replayable, None
        tokens = completion.reading.generated or 0
        if replayer is None or replayable is None:
            return
        if tokens < MIN_DECODE_TOKENS:
            return
        replayer.offer(
            Finished(
                endpoint=exchange.endpoint,
                target=replayable.target,
                body=replayable.body,
                tokens=tokens,
                text=output_text(copied),
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
