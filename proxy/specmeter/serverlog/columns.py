"""What can be shown of a record: the columns of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from specmeter.serverlog.entry import Entry
from specmeter.serverlog.rounds import Rounds

UNKNOWN = "–"  # noqa: RUF001 - a dash in a column of numbers


class Column(msgspec.Struct, frozen=True):
    """One column."""

    name: str
    text: Callable[[Entry], str | None]
    """What stands there; `None` where it is unknown."""
    is_optional: bool = False
    """Whether it is left out where no record fills it."""
    gives_way: int = 0
    """The greater, the sooner it is left out of a table that is too wide; 0: never."""
    is_text: bool = False


def number(value: float | None, digits: int) -> str | None:
    """Write a number with that many digits; `None` stays unknown."""
    return None if value is None else f"{value:.{digits}f}"


def span(rounds: Rounds | None) -> str | None:
    """Write how many rounds there were: `32`, or `66-68` where the log leaves that open."""
    if rounds is None:
        return None
    exact = rounds.exact
    return f"{rounds.low}-{rounds.high}" if exact is None else str(exact)


def _slot_and_task(entry: Entry) -> str | None:
    return None if entry.slot is None else f"{entry.slot}/{entry.task}"


def _server(entry: Entry) -> str:
    return entry.server


def _source(entry: Entry) -> str | None:
    return entry.source


COLUMNS: tuple[Column, ...] = (
    Column("time", lambda entry: entry.time, is_optional=True, gives_way=3, is_text=True),
    Column("server", _server, is_optional=True, is_text=True),
    Column("source", _source, is_optional=True, gives_way=2, is_text=True),
    Column("slot/task", _slot_and_task, is_optional=True, is_text=True),
    Column("request", lambda entry: entry.request, is_optional=True, is_text=True),
    Column("prompt", lambda entry: number(entry.prompt_processed, 0), True, gives_way=5),
    Column("tokens", lambda entry: number(entry.reading.generated, 0), True, gives_way=1),
    Column("steps", lambda entry: number(entry.steps, 0)),
    Column("rounds", lambda entry: span(entry.rounds), True, gives_way=6),
    Column("drafted", lambda entry: number(entry.reading.drafted, 0)),
    Column("accepted", lambda entry: number(entry.reading.accepted, 0)),
    Column("acceptance", lambda entry: number(entry.acceptance, 3)),
    Column("avg draft", lambda entry: number(entry.average_draft, 2)),
    Column("output/step", lambda entry: number(entry.output_per_step, 2)),
    Column("mean len", lambda entry: number(entry.mean_acceptance_length, 2)),
    Column("tok/s", lambda entry: number(entry.tokens_per_second, 1), True, gives_way=4),
)


def chosen(entries: Sequence[Entry]) -> list[Column]:
    """Return the columns that these records fill; server and source only if there are several."""
    columns = []
    for column in COLUMNS:
        shown = {column.text(entry) for entry in entries}
        if column.text in (_server, _source):
            if len(shown) > 1:
                columns.append(column)
        elif not column.is_optional or shown != {None}:
            columns.append(column)
    if not columns[0].is_text:  # something to stand under: the word total
        columns.insert(0, Column("", lambda _: "", is_text=True))
    return columns
