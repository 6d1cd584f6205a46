"""Turns completions into estimates of what they would have taken without speculation."""

from __future__ import annotations

from specmeter.meter.completion import Completion
from specmeter.reading import Speculation
from specmeter.speedup.baseline import Origin, Sample, Source
from specmeter.speedup.choice import Baseline, Baselines
from specmeter.speedup.draft_length import draft_lengths
from specmeter.speedup.estimate import Estimate
from specmeter.speedup.fixed import FIXED_ERROR, FixedBaseline
from specmeter.speedup.interval import speedup, verdict
from specmeter.speedup.measured import MeasuredBaseline
from specmeter.speedup.recent import Recent
from specmeter.speedup.state import ModelState
from specmeter.speedup.step_cost import seconds_per_step, step_cost
from specmeter.speedup.store import Entry, Learnings
from specmeter.speedup.strata import Conditions, Stratum, context_tokens
from specmeter.speedup.table import Table

Model = tuple[str, str]
"""Upstream and model name."""


class _Model:
    """What is kept of one model."""

    def __init__(self) -> None:
        self.baselines = Baselines()
        self.recent = Recent()
        self.now = Origin()


class Estimator:
    """The baselines of all models, and their latest completions."""

    def __init__(self) -> None:
        self._models: dict[Model, _Model] = {}
        self._given: dict[str, list[tuple[Baseline, Origin]]] = {}
        """By upstream: its models may not be known yet."""

    def take(self, completion: Completion, now: Origin | None = None) -> Estimate | None:
        """Compare a completion with its baseline, and learn from it if nothing was drafted.

        Args:
            completion: One that was answered with speculation on.
            now: The upstream's build and model.

        Returns:
            `None` if the completion says too little, or has no baseline.
        """
        reading = completion.reading
        if (timed := reading.timed) is None:
            return None
        tokens, seconds = timed
        place = completion.place
        conditions = Conditions(
            context_tokens(reading.prompt, reading.generated),
            completion.in_flight,
            Stratum(place.context, place.in_flight),
        )
        at = completion.finished_at
        model = self._of((completion.upstream, completion.model_name))
        model.now = now or model.now
        if reading.speculation is Speculation.DRAFTED:
            model.baselines.drafts = True
        found = model.baselines.plain_speed(conditions, tokens, at, model.now)
        if reading.speculation is Speculation.NOT_DRAFTED:
            sample = Sample(conditions.stratum, seconds, tokens, at)
            model.baselines.learn(Source.UNDRAFTED, sample, model.now)
        if found is None:
            model.recent.add(None, completion.work)
            return None
        estimate = Estimate(
            spent=seconds,
            plain=tokens * found.seconds_per_token,
            relative_error=found.relative_error,
            source=found.source,
            stratum=conditions.stratum,
            stale=found.stale,
        )
        model.recent.add(estimate, completion.work)
        return estimate

    def learn_plain(self, model: Model, source: Source, sample: Sample, origin: Origin) -> None:
        """Learn from a completion of a plain server.

        Args:
            model: Whose baseline this is.
            source: `HOLDOUT` or `SHADOW`.
            sample: Its stratum is that of its context and of the plain server's load.
            origin: The plain server's build and model.

        Raises:
            ValueError: The source is not one that learns.
        """
        self._of(model).baselines.learn(source, sample, origin)

    def give_table(self, upstream: str, table: Table) -> None:
        """Set the measurements of a plain server for all models of an upstream."""
        self._give(upstream, MeasuredBaseline(table), Origin(table.build, table.model))

    def give_number(
        self,
        upstream: str,
        seconds_per_token: float,
        measured_at: float,
        relative_error: float = FIXED_ERROR,
    ) -> None:
        """Set a number for all models, contexts and loads; see `FixedBaseline`."""
        self._give(
            upstream, FixedBaseline(seconds_per_token, measured_at, relative_error), Origin()
        )

    def resume(self, learnings: Learnings) -> None:
        """Go on with what live sources had learned."""
        for entry in learnings.entries:
            model = self._of((entry.upstream, entry.model_name))
            model.baselines.resume(entry.source, entry.learned, entry.origin)

    def learnings(self) -> Learnings:
        """Return what live sources have learned; encode it at once, as they go on learning."""
        return Learnings(
            entries=tuple(
                Entry(upstream, name, source, origin, learned)
                for (upstream, name), model in self._models.items()
                for source, learned, origin in model.baselines.learned()
            )
        )

    def state(self, at: float) -> tuple[ModelState, ...]:
        """Return what is known at a moment (Unix time)."""
        return tuple(_state(key, model, at) for key, model in self._models.items())

    def _of(self, model: Model) -> _Model:
        found = self._models.get(model)
        if found is None:
            found = self._models[model] = _Model()
            for baseline, origin in self._given.get(model[0], ()):
                found.baselines.give(baseline, origin)
        return found

    def _give(self, upstream: str, baseline: Baseline, origin: Origin) -> None:
        self._given.setdefault(upstream, []).append((baseline, origin))
        for (of_upstream, _), model in self._models.items():
            if of_upstream == upstream:
                model.baselines.give(baseline, origin)


def _state(key: Model, model: _Model, at: float) -> ModelState:
    sums, works = model.recent.sums, model.recent.works
    cost = step_cost(works)
    error = sums.doubt / sums.plain if sums.plain else 0.0
    upstream, model_name = key
    return ModelState(
        upstream=upstream,
        model_name=model_name,
        baselines=model.baselines.states(at, model.now),
        speedup=speedup(sums),
        verdict=verdict(sums),
        completions=sums.count,
        seconds_per_step=seconds_per_step(works),
        step_cost=cost,
        draft_lengths=draft_lengths(works, cost, error) if cost else (),
    )
