"""Sums over the completions of one upstream, each ratio with its own denominator."""

from dataclasses import dataclass, field

from specmeter.reading import Reading
from specmeter.speedup.estimate import Estimate
from specmeter.speedup.interval import Sums


@dataclass(frozen=True)
class Ratio:
    """A numerator and a denominator from the same completions; both `None` where none had them."""

    numerator: float | None = None
    denominator: float | None = None

    @property
    def value(self) -> float | None:
        """The quotient; `None` if it is unknown or nothing was divided by."""
        if self.numerator is None or not self.denominator:
            return None
        return self.numerator / self.denominator

    def plus(self, numerator: float | None, denominator: float | None) -> "Ratio":
        """Add one completion's pair, unless half of it is unknown."""
        if numerator is None or denominator is None:
            return self
        return Ratio((self.numerator or 0) + numerator, (self.denominator or 0) + denominator)


@dataclass(frozen=True)
class Tally:
    """What one upstream's completions add up to."""

    completions: int = 0
    acceptance: Ratio = Ratio()
    """Accepted tokens per drafted token."""
    output_per_step: Ratio = Ratio()
    """Generated tokens per target step, steps without a draft included."""
    tokens_per_second: Ratio = Ratio()
    """Decoded tokens (all but each completion's first) per decode second."""

    sums: Sums = field(default_factory=Sums)
    """Of completions that were compared with a baseline."""
    baselines: tuple[str, ...] = ()
    """Where it came from: sources, each once."""

    def plus(self, reading: Reading, estimate: Estimate | None = None) -> "Tally":
        """Return the tally with one more completion in it."""
        sums, baselines = self.sums, self.baselines
        if estimate is not None:
            sums += estimate.sums
            baselines = tuple(dict.fromkeys((*baselines, str(estimate.source))))
        return Tally(
            self.completions + 1,
            self.acceptance.plus(reading.accepted, reading.drafted),
            self.output_per_step.plus(reading.generated, reading.target_steps),
            self.tokens_per_second.plus(reading.decoded, reading.decode_seconds),
            sums,
            baselines,
        )
