"""Which runs there are, and in which order. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from specmeter.compare.samples import Cell


class Side(StrEnum):
    """One of the two servers."""

    SPEC = "spec"
    PLAIN = "plain"


class Step(msgspec.Struct, frozen=True):
    """One run that is to be made."""

    side: Side
    cell: Cell


def plan(cells: Sequence[Cell], repeats: int, seed: int) -> list[Step]:
    """Return all runs in random order, so that what comes and goes on the machine hits all alike.

    Args:
        cells: What to run on both servers.
        repeats: How often each.
        seed: The same one gives the same order.
    """
    steps = [Step(side, cell) for side in Side for cell in cells for _ in range(repeats)]
    random.Random(seed).shuffle(steps)  # noqa: S311 - nothing secret
    return steps
