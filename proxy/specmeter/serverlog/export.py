"""The records for programs, written one by one as they are found: JSON and CSV.

What is unknown is absent in JSON and empty in CSV, never 0.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TextIO

import orjson

from specmeter.serverlog.entry import Entry
from specmeter.serverlog.totals import Totals


class Export(Protocol):
    """Writes records as they come."""

    def add(self, entry: Entry) -> None:
        """Write one record."""

    def close(self, totals: Sequence[Totals], more: dict[str, Any]) -> None:
        """Write what is known only at the end."""


class JsonExport:
    """One JSON object: `entries`, `totals`, and what is to be said of the log."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._separator = '{"entries": [\n'

    def add(self, entry: Entry) -> None:
        """Write one record."""
        self._out.write(self._separator + _dumps(record(entry)))
        self._separator = ",\n"

    def close(self, totals: Sequence[Totals], more: dict[str, Any]) -> None:
        """Write the totals and the end."""
        start = "\n" if self._separator == ",\n" else self._separator
        rest = {"totals": [_total(total) for total in totals], **more}
        self._out.write(f"{start}],\n{_dumps(rest)[1:]}\n")


class CsvExport:
    """One row a record; there are no totals."""

    def __init__(self, out: TextIO) -> None:
        self._writer = csv.DictWriter(out, FIELDS, extrasaction="ignore", lineterminator="\n")
        self._writer.writeheader()

    def add(self, entry: Entry) -> None:
        """Write one record."""
        fields = record(entry)
        for name in ("accepted_per_position", "acceptance_rate_per_position", "faults"):
            if name in fields:
                fields[name] = " ".join(map(str, fields[name]))
        if "rounds_between" in fields:
            fields["rounds_between"] = "-".join(map(str, fields["rounds_between"]))
        self._writer.writerow(fields)

    def close(self, totals: Sequence[Totals], more: dict[str, Any]) -> None:
        """Write nothing: a sum among the rows would be taken for one."""


FIELDS = (
    "server",
    "kind",
    "source",
    "time",
    "slot",
    "task",
    "request",
    "prompt_tokens_processed",
    "generated_tokens",
    "target_steps",
    "rounds",
    "rounds_between",
    "drafted_tokens",
    "accepted_tokens",
    "emitted_tokens",
    "acceptance",
    "average_draft",
    "output_per_target_step",
    "mean_acceptance_length",
    "decode_seconds",
    "tokens_per_second",
    "accepted_per_position",
    "acceptance_rate_per_position",
    "faults",
)
"""What a record is written as, in this order."""


def record(entry: Entry) -> dict[str, Any]:
    """Return the known numbers of a record by their names."""
    reading, rounds = entry.reading, entry.rounds
    exact = rounds.exact if rounds else None
    values = (
        entry.server,
        "window" if entry.is_window else "request",
        entry.source,
        entry.time,
        entry.slot,
        entry.task,
        entry.request,
        entry.prompt_processed,
        reading.generated,
        entry.steps,
        exact,
        [rounds.low, rounds.high] if rounds and exact is None else None,
        reading.drafted,
        reading.accepted,
        entry.emitted,
        _rounded(entry.acceptance),
        _rounded(entry.average_draft),
        _rounded(entry.output_per_step),
        _rounded(entry.mean_acceptance_length),
        reading.decode_seconds,
        _rounded(entry.tokens_per_second),
        reading.accepted_per_position,
        entry.rates,
        entry.faults or None,
    )
    return _known(zip(FIELDS, values, strict=True))


def _total(total: Totals) -> dict[str, Any]:
    length = total.mean_acceptance_length
    steps = total.output_per_step
    fields = {
        "server": total.server,
        "windows" if total.is_window else "requests": total.entries,
        "with_a_draft": total.drafted_entries,
        "generated_tokens": total.generated,
        "target_steps": steps.denominator or None,
        "target_step_tokens": steps.numerator if steps.denominator else None,
        "rounds_between": [total.rounds_low, total.rounds_high] if length else None,
        "drafted_tokens": total.acceptance.denominator if total.has_counts else None,
        "accepted_tokens": total.acceptance.numerator if total.has_counts else None,
        "acceptance": _rounded(total.acceptance.value),
        "average_draft": _rounded(total.average_draft.value),
        "output_per_target_step": _rounded(steps.value),
        "mean_acceptance_length_between": [_rounded(value) for value in length] if length else None,
        "decode_tokens": total.speed.numerator or None,
        "decode_seconds": _rounded(total.speed.denominator or None),
        "tokens_per_second": _rounded(total.speed.value),
        "unweighted_acceptance": _rounded(total.printed_acceptance.value),
        "unweighted_mean_acceptance_length": _rounded(total.printed_length.value),
    }
    if total.positions_rounds:
        fields["accepted_per_position"] = [count for _, count in sorted(total.positions.items())]
        fields["accepted_per_position_rounds"] = total.positions_rounds
    return _known(fields.items())


def _known(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in fields if value is not None}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _dumps(value: dict[str, Any]) -> str:
    return orjson.dumps(value).decode()
