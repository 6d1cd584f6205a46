"""What has to be on /metrics, added up from what clients saw; and the comparison with what is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tests.gateway.proxy import Metrics
from tests.soak.numbers import Told

COMPARED = (
    "requests_total",
    "client_left_total",
    "upstream_failures_total",
    "unread_completions_total",
    "inconsistent_completions_total",
    "completions_total",
    "prompt_tokens_total",
    "cached_prompt_tokens_total",
    "generated_tokens_total",
    "target_steps_total",
    "target_step_tokens_total",
    "spec_decode_num_drafts_total",
    "spec_decode_num_draft_tokens_total",
    "spec_decode_num_accepted_tokens_total",
    "spec_decode_num_accepted_tokens_per_pos_total",
)
"""Every series of these families has to be what the ledger says, also those it does not name."""

Series = tuple[str, tuple[tuple[str, str], ...]]
"""A family and its labels in alphabetical order."""


class Ledger:
    """Adds up what has to be counted."""

    def __init__(self) -> None:
        self.expected: Counter[Series] = Counter()

    def add(self, family: str, labels: Mapping[str, str], amount: int = 1) -> None:
        """Expect a series to grow."""
        self.expected[family, tuple(sorted(labels.items()))] += amount

    def total(self, family: str) -> int:
        """Add up the series of a family."""
        return sum(value for (name, _), value in self.expected.items() if name == family)

    def add_completion(self, told: Told, *, upstream: str, model_name: str) -> None:
        """Expect a completion with these numbers."""
        labels = {"upstream": upstream, "model_name": model_name}
        kind = {"speculation": told.speculation, "source": "response"}
        self.add("completions_total", labels | kind)
        for family, amount in (
            ("prompt_tokens_total", told.prompt),
            ("cached_prompt_tokens_total", told.cached),
            ("generated_tokens_total", told.generated),
            ("target_steps_total", told.steps),
            ("target_step_tokens_total", told.generated if told.steps else None),
            ("spec_decode_num_drafts_total", told.rounds),
            ("spec_decode_num_draft_tokens_total", told.drafted),
            ("spec_decode_num_accepted_tokens_total", told.accepted),
        ):
            if amount is not None:
                self.add(family, labels, amount)
        for position, accepted in enumerate(told.positions):
            family = "spec_decode_num_accepted_tokens_per_pos_total"
            self.add(family, labels | {"position": str(position)}, accepted)
        if told.inconsistent:
            reason = {"upstream": upstream, "reason": told.inconsistent}
            self.add("inconsistent_completions_total", reason)


def counted(metrics: Metrics) -> Counter[Series]:
    """Return the compared series of a metrics page."""
    found: Counter[Series] = Counter()
    for sample in metrics.samples:
        if sample.name in COMPARED:
            found[sample.name, tuple(sorted(sample.labels.items()))] += int(sample.value)
    return found


def differences(
    expected: Counter[Series], before: Counter[Series], after: Counter[Series]
) -> list[str]:
    """Say where what was counted in between is not exactly what is expected, a line a series."""
    lines = []
    for series in sorted(expected.keys() | after.keys() | before.keys()):
        grown = after[series] - before[series]
        if grown != expected[series]:
            lines.append(f"{_text(series)}: {grown:g} counted, {expected[series]:g} expected")
    return lines


def _text(series: Series) -> str:
    family, labels = series
    return f"{family}{{{_joined(labels)}}}"


def _joined(labels: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f'{name}="{value}"' for name, value in labels)
