"""Medians, spreads and ratios of the samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tests.benchmarks.sample import Plan, Sample, Work

TARGETS: dict[Work, float] = {"events": 1.3, "requests": 3.0}  # at most so many times nginx's CPU


@dataclass(frozen=True)
class Spread:
    """The median of several numbers, and the least and the greatest of them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Spread":
        """Summarise numbers, at least one."""
        return cls(median(numbers), min(numbers), max(numbers))


class Summary:
    """The samples of a run, ordered by way to the upstream.

    Repeats with a faulty sample are left out if there are others: on a busy machine nginx takes in
    more at a time and looks cheaper than it is, so such a repeat is no rougher version of the rest.

    Attributes:
        repeats: those that count, from 0.
    """

    def __init__(self, plan: Plan, samples: Sequence[Sample]) -> None:
        self.plan = plan
        self.samples = samples
        self.ways = list(dict.fromkeys(sample.way for sample in samples))
        repeats = {sample.repeat for sample in samples}
        faulty = {sample.repeat for sample in samples if sample.faults(plan)}
        self.repeats = sorted(repeats - faulty or repeats)

    def microseconds(self, way: str, work: Work) -> Spread:
        """CPU time of the proxy per event or request."""
        return Spread.of([sample.microseconds(work) for sample in self._of(way)])

    def per_second(self, way: str, work: Work) -> Spread:
        """Events or requests per second."""
        return Spread.of([sample.per_second(work) for sample in self._of(way)])

    def ratio(self, way: str, work: Work) -> Spread:
        """CPU time in multiples of what nginx used in the same repeat."""
        nginx = {sample.repeat: sample.microseconds(work) for sample in self._of("nginx")}
        return Spread.of(
            [sample.microseconds(work) / nginx[sample.repeat] for sample in self._of(way)],
        )

    def faults(self) -> list[str]:
        """What is wrong with the samples, one line each."""
        return [
            f"{sample.way}, repeat {sample.repeat + 1}: {fault}"
            for sample in self.samples
            for fault in sample.faults(self.plan)
        ]

    def _of(self, way: str) -> list[Sample]:
        return [
            sample for sample in self.samples if sample.way == way and sample.repeat in self.repeats
        ]
