"""Measurements of a plain server over contexts and loads: what a baseline file holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from specmeter.speedup.interval import MIN_EFFECTIVE, small_sample

FEW_REPEATS_ERROR = 0.1
"""The relative error of one measurement, as usual on a shared machine, if repeats do not tell."""

Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]


class Point(msgspec.Struct, frozen=True):
    """Plain speed at one context and load."""

    context: NotNegative
    """Tokens in the cache at mid-generation."""
    in_flight: Annotated[int, msgspec.Meta(ge=1)]
    seconds_per_token: Positive
    relative_error: NotNegative
    """Standard error per unit."""


class Table(msgspec.Struct, frozen=True):
    """Plain speed over contexts and loads, and what was measured when."""

    points: Annotated[tuple[Point, ...], msgspec.Meta(min_length=1)]
    measured_at: NotNegative
    """Unix time."""
    build: str = ""
    model: str = ""


class Repeat(msgspec.Struct, frozen=True):
    """One measurement of a plain server."""

    seconds: float
    """Of decoding (> 0)."""
    tokens: int
    """That came in these seconds (>= 1)."""


def points_of(cells: Mapping[tuple[float, int], Sequence[Repeat]]) -> tuple[Point, ...]:
    """Return a point for each context and load that was measured, in their order.

    The noise is taken to be the same everywhere, as two or three repeats of one cell say little.

    Args:
        cells: Repeats by context (tokens at mid-generation) and requests in flight; a cell
            without repeats is left out.
    """
    measured = {key: repeats for key, repeats in sorted(cells.items()) if repeats}
    noise = _noise(list(measured.values()))
    return tuple(
        Point(
            context=context,
            in_flight=in_flight,
            seconds_per_token=_mean(repeats),
            relative_error=noise / math.sqrt(len(repeats)),
        )
        for (context, in_flight), repeats in measured.items()
    )


def _mean(repeats: Sequence[Repeat]) -> float:
    return sum(one.seconds for one in repeats) / sum(one.tokens for one in repeats)


def _noise(cells: Sequence[Sequence[Repeat]]) -> float:
    """Return the relative standard deviation of one repeat, from the spread within cells."""
    squares = 0.0
    freedom = 0
    for repeats in cells:
        mean = _mean(repeats)
        squares += sum((one.seconds / one.tokens / mean - 1) ** 2 for one in repeats)
        freedom += len(repeats) - 1
    if freedom < MIN_EFFECTIVE:
        return FEW_REPEATS_ERROR
    return math.sqrt(squares / freedom) * small_sample(freedom + 1)
