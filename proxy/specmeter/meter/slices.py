"""Counts by context, output length and load: where speculation pays, and where it does not."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry

from specmeter.meter import families
from specmeter.meter.completion import Completion
from specmeter.meter.decode_time import NO_BASELINE
from specmeter.meter.series import Labels, counter_in
from specmeter.reading import MIN_DECODE_TOKENS
from specmeter.speedup.strata import ANY, CONTEXT, IN_FLIGHT, OUTPUT, context_tokens


class Slices:
    """The sums of each bucket of each slice."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._completions = counter_in(registry, families.SLICE_COMPLETIONS)
        self._step_tokens = counter_in(registry, families.SLICE_STEP_TOKENS)
        self._steps = counter_in(registry, families.SLICE_STEPS)
        self._drafted = counter_in(registry, families.SLICE_DRAFT_TOKENS)
        self._accepted = counter_in(registry, families.SLICE_ACCEPTED_TOKENS)
        self._seconds = counter_in(registry, families.SLICE_DECODE_SECONDS)
        self._tokens = counter_in(registry, families.SLICE_DECODE_TOKENS)
        self._plain = counter_in(registry, families.SLICE_PLAIN_SECONDS)

    def count(self, model: Labels, completion: Completion) -> None:
        """Add a completion to the bucket of each slice in which its place is known."""
        for labels in _slices(model, completion):
            self._add(labels, completion)

    def _add(self, labels: Labels, completion: Completion) -> None:
        reading = completion.reading
        self._completions.add(labels)
        steps = reading.target_steps
        if steps is not None and reading.generated is not None:
            self._steps.add(labels, steps)
            self._step_tokens.add(labels, reading.generated)
        if reading.drafted is not None and reading.accepted is not None:
            self._drafted.add(labels, reading.drafted)
            self._accepted.add(labels, reading.accepted)
        seconds, tokens = reading.decode_seconds, reading.decoded
        if not seconds or not tokens or (reading.generated or 0) < MIN_DECODE_TOKENS:
            return
        estimate = completion.estimate
        compared = (*labels, NO_BASELINE if estimate is None else estimate.source)
        self._seconds.add(compared, seconds)
        self._tokens.add(compared, tokens)
        if estimate is not None:
            self._plain.add(compared, estimate.plain)


def _slices(model: Labels, completion: Completion) -> Iterator[Labels]:
    reading = completion.reading
    for name, bucket in (
        ("context", CONTEXT.bucket(context_tokens(reading.prompt, reading.generated))),
        ("output", OUTPUT.bucket(reading.generated)),
        ("in_flight", IN_FLIGHT.bucket(completion.in_flight)),
    ):
        if bucket != ANY:
            yield (*model, name, bucket)
