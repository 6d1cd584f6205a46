"""Sums over the records of one kind of server, each ratio with the denominators of its own."""

from __future__ import annotations

from collections import Counter

from specmeter.reading import Inconsistency
from specmeter.serverlog.entry import Entry

_MOST_POSITIONS = 64
_STOPPED = (Inconsistency.ACCEPTED_NOT_BELOW_GENERATED,)  # real, and nothing is left out


class Sum:
    """A numerator and a denominator from the same records."""

    __slots__ = ("denominator", "numerator")

    def __init__(self) -> None:
        self.numerator: float = 0
        self.denominator: float = 0

    @property
    def value(self) -> float | None:
        """The quotient; `None` if nothing was divided by."""
        return self.numerator / self.denominator if self.denominator else None


class Totals:
    """What the records of one kind of server add up to."""

    def __init__(self, server: str, *, is_window: bool) -> None:
        self.server = server
        self.is_window = is_window
        self.entries = 0
        self.drafted_entries = 0
        """Records in which something was drafted."""
        self.reporting_entries = 0
        """Records that tell of drafting, if only that there was none."""
        self.sources: set[str] = set()
        self.generated: int | None = None
        self.acceptance = Sum()
        """Accepted tokens, drafted tokens."""
        self.average_draft = Sum()
        """Drafted tokens, target steps."""
        self.output_per_step = Sum()
        """Generated tokens, target steps."""
        self.speed = Sum()
        """Decoded tokens (all but the first), decode seconds."""
        self.round_tokens = 0
        """Accepted tokens of the records whose rounds are known; emitted ones for vLLM V0."""
        self.counts_emitted = False
        self.rounds_low = 0
        self.rounds_high = 0
        self.positions: Counter[int] = Counter()
        self.positions_rounds = 0
        self.printed_acceptance = Sum()
        """Of records without counts: the sum of the ratios, and their number."""
        self.printed_length = Sum()
        self.faults: Counter[str] = Counter()
        self.faulty_entries = 0
        """Records that numbers were left out of."""

    def add(self, entry: Entry) -> None:
        """Take in one record."""
        reading = entry.reading
        drafted, accepted = reading.drafted, reading.accepted
        generated, steps = reading.generated, entry.steps
        self.entries += 1
        if entry.source is not None and len(self.sources) < 1000:  # noqa: PLR2004 - for a sentence
            self.sources.add(entry.source)
        if generated is not None:
            self.generated = (self.generated or 0) + generated
        if drafted is not None and accepted is not None:
            self.reporting_entries += 1
            self.drafted_entries += drafted > 0
            self.acceptance.numerator += accepted
            self.acceptance.denominator += drafted
            if steps is not None and generated is not None:
                self.average_draft.numerator += drafted
                self.average_draft.denominator += steps
                self.output_per_step.numerator += generated
                self.output_per_step.denominator += steps
            if entry.rounds is not None:
                self._add_rounds(entry, accepted)
        elif entry.printed_acceptance is not None or entry.printed_mean_length is not None:
            self._add_printed(entry)
        if reading.decoded is not None and reading.decode_seconds:
            self.speed.numerator += reading.decoded
            self.speed.denominator += reading.decode_seconds
        if entry.faults:
            self.faults.update(entry.faults)
            self.faulty_entries += entry.faults != _STOPPED

    @property
    def has_counts(self) -> bool:
        """Whether any record tells how much was drafted and accepted, if only that it was 0."""
        return self.reporting_entries > self.printed_length.denominator

    @property
    def mean_acceptance_length(self) -> tuple[float, float] | None:
        """The least and the greatest that the rounds allow; equal if those are certain."""
        if not self.rounds_low:
            return None
        own = 0 if self.counts_emitted else 1
        tokens = self.round_tokens
        return own + tokens / self.rounds_high, own + tokens / self.rounds_low

    def _add_rounds(self, entry: Entry, accepted: int) -> None:
        if entry.rounds is None:
            return
        self.rounds_low += entry.rounds.low
        self.rounds_high += entry.rounds.high
        self.counts_emitted = entry.emitted is not None
        self.round_tokens += accepted if entry.emitted is None else entry.emitted
        positions = entry.reading.accepted_per_position
        if positions is not None and entry.reading.rounds is not None:
            self.positions_rounds += entry.reading.rounds
            for position, count in enumerate(positions[:_MOST_POSITIONS]):
                self.positions[position] += count

    def _add_printed(self, entry: Entry) -> None:
        self.reporting_entries += 1
        self.drafted_entries += 1
        for ratio, total in (
            (entry.printed_acceptance, self.printed_acceptance),
            (entry.printed_mean_length, self.printed_length),
        ):
            if ratio is not None:
                total.numerator += ratio
                total.denominator += 1
