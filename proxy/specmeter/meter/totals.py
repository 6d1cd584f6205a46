"""The counters of completions: sums of what each of them adds, by model, baseline and slice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from specmeter.meter import families
from specmeter.meter.completion import Completion
from specmeter.meter.families import Family
from specmeter.meter.series import Labels
from specmeter.speedup.strata import ANY
from specmeter.tally.growing import Growing
from specmeter.tally.place import SLICES, Place

NO_BASELINE = "none"
"""The `baseline` of completions that are compared with nothing."""


class _Series(NamedTuple):
    """A family, and what its series show: names in `Counts`."""

    family: Family
    value: str
    exists: str = ""
    """What has to be more than 0, else there is no series: what nobody has told is absent."""


_OF_MODEL = (
    _Series(families.PROMPT_TOKENS, "prompt"),
    _Series(families.CACHED_PROMPT_TOKENS, "cached_prompt"),
    _Series(families.GENERATED_TOKENS, "generated"),
    _Series(families.TARGET_STEPS, "steps"),
    _Series(families.TARGET_STEP_TOKENS, "step_tokens"),
    _Series(families.DRAFTS, "rounds", "round_completions"),
    _Series(families.ROUND_ACCEPTED_TOKENS, "round_accepted", "round_completions"),
    _Series(families.DRAFT_TOKENS, "drafted"),
    _Series(families.ACCEPTED_TOKENS, "accepted"),
    _Series(families.TIMED_STEPS, "work_steps"),
    _Series(families.TIMED_STEP_SECONDS, "work_seconds"),
)
_OF_BASELINE = (
    _Series(families.DECODE_SECONDS, "decode_seconds"),
    _Series(families.DECODE_TOKENS, "decode_tokens"),
)
_OF_COMPARED = (
    _Series(families.PLAIN_DECODE_SECONDS, "plain"),
    _Series(families.DECODE_SECONDS_SQUARED, "spent_squared"),
    _Series(families.PLAIN_DECODE_SECONDS_SQUARED, "plain_squared"),
    _Series(families.DECODE_SECONDS_CROSS, "cross"),
    _Series(families.PLAIN_DECODE_DOUBT, "doubt"),
)
_OF_SLICE = (
    _Series(families.SLICE_COMPLETIONS, "completions", "completions"),
    _Series(families.SLICE_STEPS, "steps", "steps"),
    _Series(families.SLICE_STEP_TOKENS, "step_tokens", "steps"),
    _Series(families.SLICE_DRAFT_TOKENS, "drafted", "reported"),
    _Series(families.SLICE_ACCEPTED_TOKENS, "accepted", "reported"),
)
_OF_SLICE_AND_BASELINE = (
    _Series(families.SLICE_DECODE_SECONDS, "decode_seconds", "decode_tokens"),
    _Series(families.SLICE_DECODE_TOKENS, "decode_tokens", "decode_tokens"),
    _Series(families.SLICE_PLAIN_SECONDS, "plain", "compared"),
)

_Sums = Mapping[Labels, Growing]


class Totals(Collector):
    """Adds completions up; what a series shows is put together at a scrape."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Labels, str, Place], Growing] = {}
        """By model and baseline, and by place: a completion costs one sum."""

    def expect(self, model: Labels, baseline: str) -> None:
        """Create the series of a model; those of slices come with their first completion."""
        self._sums.setdefault((model, baseline, _NOWHERE), Growing())

    def count(self, model: Labels, completion: Completion) -> None:
        """Add a completion."""
        estimate = completion.estimate
        baseline = NO_BASELINE if estimate is None else estimate.source
        key = (model, baseline, completion.place)
        found = self._sums.get(key)
        if found is None:
            found = self._sums[key] = Growing()
        found.add(completion.numbers)

    def collect(self) -> Iterator[Metric]:
        """Yield the families as they are now."""
        by_model: defaultdict[Labels, Growing] = defaultdict(Growing)
        by_baseline: defaultdict[Labels, Growing] = defaultdict(Growing)
        by_slice: defaultdict[Labels, Growing] = defaultdict(Growing)
        by_both: defaultdict[Labels, Growing] = defaultdict(Growing)
        for (model, baseline, place), sums in self._sums.items():
            by_model[model].include(sums)
            by_baseline[*model, baseline].include(sums)
            for axis, bucket in zip(SLICES, place.labels, strict=True):
                if bucket != ANY:
                    by_slice[*model, axis, bucket].include(sums)
                    by_both[*model, axis, bucket, baseline].include(sums)
        compared = {one: sums for one, sums in by_baseline.items() if one[-1] != NO_BASELINE}
        for table, of in (
            (_OF_MODEL, by_model),
            (_OF_BASELINE, by_baseline),
            (_OF_COMPARED, compared),
            (_OF_SLICE, by_slice),
            (_OF_SLICE_AND_BASELINE, by_both),
        ):
            yield from _families(table, of)


_NOWHERE = Place(ANY, ANY, ANY)


def _families(table: tuple[_Series, ...], sums: _Sums) -> Iterator[Metric]:
    counts = {labels: of.counts for labels, of in sums.items()}
    for family, value, exists in table:
        metric = CounterMetricFamily(family.full_name, family.meaning, labels=family.labels)
        for labels, of in counts.items():
            if not exists or getattr(of, exists):
                metric.add_metric(labels, getattr(of, value))
        yield metric
