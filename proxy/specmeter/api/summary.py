"""All upstreams and models at a glance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import msgspec

from specmeter import __version__
from specmeter.api import VERSION
from specmeter.api.baselines import BaselineOut, baseline_out
from specmeter.api.blind import blind_spots
from specmeter.api.numbers import Numbers, numbers_from
from specmeter.api.series import Series, series_of, total_of, within
from specmeter.api.verdict import Seen, VerdictOut, verdict_on
from specmeter.history.history import History, Model
from specmeter.history.names import short
from specmeter.history.timeline import Range
from specmeter.speedup.estimator import Estimator
from specmeter.speedup.state import ModelState
from specmeter.speedup.step_cost import Cost
from specmeter.tally.counts import Counts
from specmeter.tally.growing import Growing
from specmeter.upstream.upstreams import OTHER_MODEL, Upstream, Upstreams


class Bounds(msgspec.Struct, frozen=True):
    """A number and where the truth lies in 95 of 100 cases."""

    value: float
    low: float
    high: float


class StepCostOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a step of the target costs, over the latest completions."""

    fixed_ms: Bounds
    draft_ms: Bounds
    """For each drafted token."""
    break_even: Bounds | None = None
    """Tokens that a step has to bring back; absent without a baseline."""
    tokens_per_step: float | None = None
    """What it brings back; the prompt pass and its token left out."""


class DraftLengthOut(msgspec.Struct, frozen=True):
    """An estimate of the speedup with drafts of at most so many tokens."""

    length: int
    speedup: Bounds
    now: bool


class UpstreamOut(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One server."""

    name: str
    url: str
    up: bool | None = None
    """Absent before it was first asked."""
    kind: str = ""
    build: str = ""
    method: str = ""
    drafting: str
    """configured, drafting, no_candidate, off or unknown."""
    under_way: int
    last_drafted_at: float | None = None
    plain: str = ""
    plain_of: list[str] = []
    models: list[str] = []
    blind_spots: list[str] = []


class ModelOut(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One model of one upstream."""

    upstream: str
    model: str
    verdict: VerdictOut
    numbers: Numbers
    baselines: list[BaselineOut] = []
    last_completion_at: float | None = None
    step_cost: StepCostOut | None = None
    draft_lengths: list[DraftLengthOut] = []


class Summary(msgspec.Struct, frozen=True):
    """Everything but the charts."""

    version: int
    specmeter: str
    at: float
    started_at: float
    range: str
    data_url: str
    upstreams: list[UpstreamOut]
    models: list[ModelOut]


class Teller:
    """Puts together what is known at a moment.

    Args:
        upstreams: All of them.
        estimator: The baselines, and what steps cost.
        history: The past.
        data_url: Where clients connect; known once the proxy listens.
        clock: Unix time.
    """

    def __init__(
        self,
        upstreams: Upstreams,
        estimator: Estimator,
        history: History,
        data_url: Callable[[], str],
        clock: Callable[[], float],
    ) -> None:
        self.history = history
        self._upstreams = upstreams
        self._estimator = estimator
        self._data_url = data_url
        self._clock = clock
        self._started_at = clock()
        self.run = f"{1000 * self._started_at:.0f}"
        """Tells this run of the proxy from those before it."""
        self._plain_of: dict[str, list[str]] = defaultdict(list)
        for one in upstreams.all:
            if one.settings.plain:
                self._plain_of[one.settings.plain].append(one.name)

    def summary(self, of: Range) -> Summary:
        """Return the summary of a range."""
        now = self._clock()
        states = {
            Model(state.upstream, short(state.model_name)): state
            for state in self._estimator.state(now)
        }
        totals = {model: self._total(model, of, now) for model in self._models()}
        return Summary(
            version=VERSION,
            specmeter=__version__,
            at=round(now, 3),
            started_at=round(self._started_at, 3),
            range=of.name,
            data_url=self._data_url(),
            upstreams=[self._upstream(one, totals) for one in self._upstreams.all],
            models=[
                self._model(model, counts, states.get(model), of)
                for model, counts in totals.items()
            ],
        )

    def series(self, model: Model, of: Range) -> Series:
        """Return one model's charts; empty ones if it has no past."""
        return series_of(self.history.of(model), model.upstream, model.name, of, self._clock())

    def has(self, model: Model) -> bool:
        """Whether there is such a model."""
        return model in self._models()

    def state(self) -> tuple[object, ...]:
        """Return what differs as soon as there is something new to tell."""
        upstreams = (
            (one.up, one.kind, one.build, one.models, one.drafting.state, one.load.under_way)
            for one in self._upstreams.all
        )
        return (self.history.number, *upstreams)

    def _models(self) -> list[Model]:
        found: dict[Model, None] = {}
        past = self.history.models
        for upstream in self._upstreams.all:
            mine = [model for model in past if model.upstream == upstream.name]
            listed = [Model(upstream.name, short(name)) for name in sorted(upstream.models)]
            found |= dict.fromkeys([*listed, *mine] or [Model(upstream.name, OTHER_MODEL)])
        return list(found)

    def _total(self, model: Model, of: Range, now: float) -> Counts:
        timeline = self.history.of(model)
        buckets = [] if timeline is None else within(timeline.window(of, now), of, now)
        return total_of(buckets).counts

    def _upstream(self, upstream: Upstream, totals: dict[Model, Counts]) -> UpstreamOut:
        missed = {
            reason: count
            for (name, reason), count in self.history.missed.items()
            if name == upstream.name
        }
        mine = Growing()
        for model, counts in totals.items():
            if model.upstream == upstream.name:
                mine.add(msgspec.structs.astuple(counts))
        return UpstreamOut(
            name=upstream.name,
            url=upstream.settings.url,
            up=upstream.up,
            kind=upstream.kind,
            build=short(upstream.build),
            method=upstream.method,
            drafting=upstream.drafting.state,
            under_way=upstream.load.under_way,
            last_drafted_at=max(upstream.last_drafted.values(), default=None),
            plain=upstream.settings.plain,
            plain_of=self._plain_of.get(upstream.name, []),
            models=[short(name) for name in sorted(upstream.models)],
            blind_spots=blind_spots(upstream, mine.counts, missed),
        )

    def _model(self, model: Model, counts: Counts, state: ModelState | None, of: Range) -> ModelOut:
        numbers = numbers_from(counts)
        last = self.history.last_completion.get(model)
        seen = Seen(
            upstream=self._upstreams.named(model.upstream),
            plain_of=self._plain_of.get(model.upstream, []),
            numbers=numbers,
            of=of,
            ever=last is not None,
            data_url=self._data_url(),
        )
        return ModelOut(
            upstream=model.upstream,
            model=model.name,
            verdict=verdict_on(seen),
            numbers=numbers,
            baselines=[] if state is None else [baseline_out(one) for one in state.baselines],
            last_completion_at=last,
            step_cost=None if state is None else _step_cost(state),
            draft_lengths=[] if state is None else _draft_lengths(state),
        )


def favourite(summary: Summary) -> Model:
    """Return the model to show to someone who has not chosen one: the one that drafts most."""
    plain = {one.name for one in summary.upstreams if one.plain_of}
    best = max(
        summary.models,
        key=lambda one: (
            one.numbers.drafted,
            one.upstream not in plain,
            one.numbers.completions,
        ),
    )
    return Model(best.upstream, best.model)


def _step_cost(state: ModelState) -> StepCostOut | None:
    cost = state.step_cost
    if cost is None:
        return None
    even = cost.break_even
    return StepCostOut(
        fixed_ms=_bounds(cost.step_seconds, 1000),
        draft_ms=_bounds(cost.draft_seconds, 1000),
        break_even=None if even is None else _bounds(even),
        tokens_per_step=round(cost.tokens_per_step, 3),
    )


def _draft_lengths(state: ModelState) -> list[DraftLengthOut]:
    return [
        DraftLengthOut(
            one.length, Bounds(one.speedup, one.interval.low, one.interval.high), one.now
        )
        for one in state.draft_lengths
    ]


def _bounds(cost: Cost, times: float = 1.0) -> Bounds:
    interval = cost.interval
    return Bounds(*(round(times * one, 4) for one in (cost.value, interval.low, interval.high)))
