"""Counts decode time, and beside it what the same tokens would have taken without speculation."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from specmeter.meter import families
from specmeter.meter.completion import Completion
from specmeter.meter.series import Counter, Labels, counter_in, histogram_in
from specmeter.reading import MIN_DECODE_TOKENS
from specmeter.speedup.work import work_of

NO_BASELINE = "none"
"""The `baseline` of completions that are compared with nothing."""


class DecodeTime:
    """The sums behind tokens per second, seconds per step and speedup.

    Completions with a baseline and those without are kept apart by a label, so that the two halves
    of a ratio are always of the same ones.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = counter_in(registry, families.DECODE_SECONDS)
        self._tokens = counter_in(registry, families.DECODE_TOKENS)
        self._plain = counter_in(registry, families.PLAIN_DECODE_SECONDS)
        self._squared = counter_in(registry, families.DECODE_SECONDS_SQUARED)
        self._plain_squared = counter_in(registry, families.PLAIN_DECODE_SECONDS_SQUARED)
        self._cross = counter_in(registry, families.DECODE_SECONDS_CROSS)
        self._doubt = counter_in(registry, families.PLAIN_DECODE_DOUBT)
        self._steps = counter_in(registry, families.TIMED_STEPS)
        self._step_seconds = counter_in(registry, families.TIMED_STEP_SECONDS)
        self._per_token = histogram_in(registry, families.PER_TOKEN)
        self._speedup = histogram_in(registry, families.REQUEST_SPEEDUP)

    def expect_model(self, model: Labels) -> None:
        """Create the series of a model; those of a baseline come with the first comparison."""
        for counter in (self._seconds, self._tokens):
            counter.add((*model, NO_BASELINE), 0)
        for counter in (self._steps, self._step_seconds):
            counter.add(model, 0)
        self._per_token.expect(model)

    def expect_baseline(self, model: Labels, baseline: str) -> None:
        """Create the series of a model whose baseline is known from the start."""
        for counter in (self._seconds, self._tokens, *self._compared):
            counter.add((*model, baseline), 0)

    @property
    def _compared(self) -> tuple[Counter, ...]:
        return (self._plain, self._squared, self._plain_squared, self._cross, self._doubt)

    def count(self, model: Labels, completion: Completion) -> None:
        """Add a completion of 8 tokens or more whose decode time is known."""
        reading = completion.reading
        if reading.generated is None or reading.generated < MIN_DECODE_TOKENS:
            return
        seconds, tokens = reading.decode_seconds, reading.decoded
        if not seconds or not tokens:
            return
        self._per_token.observe(model, seconds / tokens)
        estimate = completion.estimate
        labels = (*model, NO_BASELINE if estimate is None else estimate.source)
        self._seconds.add(labels, seconds)
        self._tokens.add(labels, tokens)
        work = work_of(reading, None)
        if work is not None:
            self._steps.add(model, work.steps)
            self._step_seconds.add(model, work.seconds)
        if estimate is not None:
            sums = estimate.sums
            self._plain.add(labels, sums.plain)
            self._squared.add(labels, sums.spent_squared)
            self._plain_squared.add(labels, sums.plain_squared)
            self._cross.add(labels, sums.cross)
            self._doubt.add(labels, sums.doubt)
            self._speedup.observe(model, estimate.ratio)
