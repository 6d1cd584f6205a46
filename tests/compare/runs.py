"""Runs with given numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from specmeter.compare.results import Results
from specmeter.compare.samples import Cell, Run
from specmeter.reading import Clock, Reading


def reading(
    speed: float = 50.0, tokens: int = 101, drafted: int | None = 0, accepted: int | None = 0
) -> Reading:
    """Make the reading of a completion that came at so many tokens per second."""
    return Reading(
        generated=tokens,
        prompt=20,
        drafted=drafted,
        accepted=accepted,
        decode_seconds=(tokens - 1) / speed,
        clock=Clock.SERVER,
    )


def run(cell: Cell, one: Reading, digest: str | None = "a", *, is_new: bool = False) -> Run:
    """Make a run of one request."""
    return Run(cell, (one,), (digest,), is_new)


def results(
    spec: Mapping[tuple[str, int], Sequence[float]],
    plain: Mapping[tuple[str, int], Sequence[float]],
) -> Results:
    """Make results from speeds by prompt and length."""
    runs = [
        [
            run(Cell(*cell), reading(speed, cell[1] + 1), is_new=at == 0)
            for cell, speeds in server.items()
            for at, speed in enumerate(speeds)
        ]
        for server in (spec, plain)
    ]
    return Results.of([Cell(*cell) for cell in spec], *runs)
