"""Writes what was measured as lines of a table, with its spread."""

from __future__ import annotations

from specmeter.baseline.results import Results

_HEADS = ("context", "in flight", "tok/s each", "ms/token", "slowest", "fastest", "range ratio")


def lines(results: Results) -> list[str]:
    """Return the table: one line a cell, in order of load and context."""
    rows = [_HEADS]
    for _, one in sorted(results.cells.items(), key=lambda item: (item[0].in_flight, item[0])):
        tokens = sum(repeat.tokens for repeat in one.repeats)
        seconds = sum(repeat.seconds for repeat in one.repeats)
        rows.append(
            (
                f"{one.context:.0f}",
                f"{one.cell.in_flight}",
                f"{tokens / seconds:.1f}",
                f"{1000 * seconds / tokens:.2f}",
                f"{min(one.speeds):.1f}",
                f"{max(one.speeds):.1f}",
                f"{one.range_ratio:.2f} of {len(one.repeats)}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
