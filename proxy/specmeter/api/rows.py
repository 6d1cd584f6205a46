"""The latest completions one by one: numbers only, never a prompt or an output."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from specmeter.history.history import Missed, Row
from specmeter.history.names import short
from specmeter.meter.completion import Completion

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a text that begins so for a formula."""


class RowOut(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A completion, or a request that brought no numbers; what is unknown is left out."""

    number: int
    """Rises by one with each."""
    at: float
    """When it ended: Unix time."""
    upstream: str
    endpoint: str
    outcome: str
    """`complete`, `client_left`, `upstream_failed`, or why there are no numbers."""
    source: str
    """Where its numbers come from: `response`, `matched`, `log`; `none` if there are none."""
    model: str | None = None
    code: int | None = None
    """The HTTP status of a request that brought no numbers."""
    prompt_tokens: int | None = None
    tokens: int | None = None
    speculation: str | None = None
    drafted: int | None = None
    accepted: int | None = None
    acceptance: float | None = None
    steps: int | None = None
    output_per_step: float | None = None
    tokens_per_second: float | None = None
    speedup: float | None = None
    """Of this completion alone: mostly noise."""
    baseline: str | None = None
    first_token_ms: float | None = None
    duration_ms: float | None = None
    in_flight: int | None = None
    held_out_of: str | None = None
    """The upstream that would have answered, had the request not been held out."""


COLUMNS = RowOut.__struct_fields__


def row_out(row: Row) -> RowOut:
    """Return a row as it is shown."""
    what = row.what
    if isinstance(what, Missed):
        return RowOut(
            number=row.number,
            at=round(what.finished_at, 3),
            upstream=what.upstream,
            endpoint=what.endpoint,
            outcome=what.reason,
            source="none",
            code=what.code,
        )
    return _of_completion(row.number, what)


def as_csv(rows: Iterable[RowOut]) -> str:
    """Return rows as CSV with a heading; times are ISO 8601 in UTC."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in rows:
        cells = {name: getattr(row, name) for name in COLUMNS}
        cells["at"] = datetime.fromtimestamp(row.at, UTC).isoformat(timespec="milliseconds")
        writer.writerow("" if cell is None else _harmless(cell) for cell in cells.values())
    return out.getvalue()


def _of_completion(number: int, completion: Completion) -> RowOut:
    reading, estimate = completion.reading, completion.estimate
    per_token = reading.seconds_per_token
    return RowOut(
        number=number,
        at=round(completion.finished_at, 3),
        upstream=completion.upstream,
        endpoint=completion.endpoint,
        outcome=completion.ending,
        source=completion.source,
        model=short(completion.model_name),
        prompt_tokens=reading.prompt,
        tokens=reading.generated,
        speculation=reading.speculation,
        drafted=reading.drafted,
        accepted=reading.accepted,
        acceptance=_rounded(reading.acceptance, 4),
        steps=reading.target_steps,
        output_per_step=_rounded(reading.output_per_step, 3),
        tokens_per_second=None if per_token is None else round(1 / per_token, 2),
        speedup=None if estimate is None else round(estimate.ratio, 3),
        baseline=None if estimate is None else estimate.source,
        first_token_ms=_milliseconds(completion.time_to_first_token),
        duration_ms=_milliseconds(completion.duration),
        in_flight=completion.in_flight,
        held_out_of=None if completion.stands_for is None else completion.stands_for[0],
    )


def _rounded(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(1000 * seconds, 1)


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
