"""The report for people: a table of the records, and totals with what they were divided from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specmeter.serverlog.columns import UNKNOWN, Column, chosen, number
from specmeter.serverlog.entry import Entry
from specmeter.serverlog.totals import Sum, Totals

_GAP = "  "
_NARROW_GAP = " "
_NAME_WIDTH = 24
_TOTAL = "total"
_NOTHING = "nothing was drafted"


def table(entries: Sequence[Entry], totals: Sequence[Totals], width: int | None) -> list[str]:
    """Write the table.

    Args:
        entries: Its rows.
        totals: One row each at the end.
        width: Of the terminal; columns that matter less give way. `None`: any width is fine.
    """
    columns = chosen(entries)
    lines = _lines(columns, entries, totals, _GAP)
    while width is not None and max(map(len, lines)) > width:
        lines = _lines(columns, entries, totals, _NARROW_GAP)
        givers = [column for column in columns if column.gives_way]
        if not givers or max(map(len, lines)) <= width:
            break
        columns.remove(max(givers, key=lambda column: column.gives_way))
    return lines


def totals_lines(totals: Totals) -> Iterator[str]:
    """Write the totals of one kind of server, one ratio a line."""
    yield _headline(totals)
    printed = totals.printed_acceptance.denominator or totals.printed_length.denominator
    if printed:
        intervals = (
            f"mean of {int(printed)} intervals, each counted the same: the log has no counts"
        )
        yield _line("acceptance", number(totals.printed_acceptance.value, 3), intervals)
        yield _line("mean acceptance length", number(totals.printed_length.value, 2), intervals)
        return
    accepted, drafted = totals.acceptance.numerator, totals.acceptance.denominator
    if drafted:
        counts = f"{accepted:.0f} accepted / {drafted:.0f} drafted"
    else:
        counts = _NOTHING if totals.has_counts else "the log does not tell"
    yield _line("acceptance", number(totals.acceptance.value, 3), counts)
    why = _why_no_steps(totals)
    yield _ratio("average draft", totals.average_draft, "drafted", "target steps", why)
    yield _ratio("output per target step", totals.output_per_step, "tokens", "target steps", why)
    yield _mean_length(totals)
    if totals.positions_rounds:
        rounds = totals.positions_rounds
        rates = " ".join(f"{count / rounds:.2f}" for _, count in sorted(totals.positions.items()))
        yield _line("accepted per position", rates, f"accepted / {rounds} rounds with a draft")
    if totals.speed.denominator:
        decoded, seconds = totals.speed.numerator, totals.speed.denominator
        source = f"{decoded:.0f} decoded / {seconds:.2f} decode seconds"
        yield _line("tokens per second", number(totals.speed.value, 1), source)


def _lines(
    columns: Sequence[Column], entries: Sequence[Entry], totals: Sequence[Totals], gap: str
) -> list[str]:
    rows = [[column.name for column in columns]]
    rows += [[column.text(entry) or UNKNOWN for column in columns] for entry in entries]
    rows += [_total_row(columns, total) for total in totals]
    widths = [max(len(row[place]) for row in rows) for place in range(len(columns))]
    return [
        gap.join(
            cell.ljust(width) if column.is_text else cell.rjust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _total_row(columns: Sequence[Column], total: Totals) -> list[str]:
    steps = total.output_per_step.denominator
    length = total.mean_acceptance_length
    acceptance, printed_length = total.acceptance.value, total.printed_length.value
    known = {
        "server": total.server,
        "source": "",
        "slot/task": "",
        "request": "",
        "prompt": "",
        "tokens": number(total.generated, 0),
        "steps": number(steps, 0) if steps else None,
        "rounds": _span(total.rounds_low, total.rounds_high) if total.rounds_low else None,
        "drafted": number(total.acceptance.denominator, 0) if total.has_counts else None,
        "accepted": number(total.acceptance.numerator, 0) if total.has_counts else None,
        "acceptance": number(
            total.printed_acceptance.value if acceptance is None else acceptance, 3
        ),
        "avg draft": number(total.average_draft.value, 2),
        "output/step": number(total.output_per_step.value, 2),
        "mean len": _lengths(*length) if length else number(printed_length, 2),
        "tok/s": number(total.speed.value, 1),
    }
    known[columns[0].name] = _TOTAL
    cells = [known.get(column.name) for column in columns]
    return [UNKNOWN if cell is None else cell for cell in cells]


def _headline(totals: Totals) -> str:
    name = "window" if totals.is_window else "request"
    entries = f"{totals.entries} {name}{'' if totals.entries == 1 else 's'}"
    sources = f" of {len(totals.sources)} sources" if len(totals.sources) > 1 else ""
    return f"{totals.server}: {entries}{sources}, {totals.drafted_entries} of them with a draft"


def _mean_length(totals: Totals) -> str:
    lengths = totals.mean_acceptance_length
    if lengths is None:
        why = "the log does not tell the rounds with a draft"
        nothing = totals.has_counts and not totals.acceptance.denominator
        return _line("mean acceptance length", None, _NOTHING if nothing else why)
    rounds = f"{_span(totals.rounds_low, totals.rounds_high)} rounds with a draft"
    if totals.rounds_low != totals.rounds_high:
        rounds += " (as far as rounded means tell)"
    above = f"1 + {totals.round_tokens} accepted"
    if totals.counts_emitted:
        above = f"{totals.round_tokens} emitted"
    return _line("mean acceptance length", _lengths(*lengths), f"{above} / {rounds}")


def _why_no_steps(totals: Totals) -> str:
    if totals.is_window:
        return "the log does not count the tokens of steps without a draft"
    return "the log has no generated tokens beside the drafted ones"


def _ratio(name: str, total: Sum, above: str, below: str, why: str) -> str:
    if total.value is None:
        return _line(name, None, why)
    counts = f"{total.numerator:.0f} {above} / {total.denominator:.0f} {below}"
    return _line(name, number(total.value, 2), counts)


def _line(name: str, value: str | None, source: str) -> str:
    """Write a ratio and where it is from; if it is unknown, the source says why."""
    known = f"{UNKNOWN} ({source})" if value is None else f"{value} = {source}"
    return f"  {name.ljust(_NAME_WIDTH)}{known}"


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _lengths(low: float, high: float) -> str:
    least, most = f"{low:.2f}", f"{high:.2f}"
    return least if least == most else f"{least}-{most}"
