"""What is measured, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

PROMPT_SHARE = 0.1
"""What a token of a prompt costs beside one that is generated, roughly, for the time left."""

_ROOM = 16
"""Tokens of the window that are kept free: a calibrated prompt is not exact."""


class Cell(msgspec.Struct, frozen=True, order=True):
    """A context (tokens at mid-generation) with so many requests in flight."""

    context: int
    in_flight: int

    def cost(self, tokens: int) -> float:
        """Return what it costs beside others."""
        return self.in_flight * (tokens + PROMPT_SHARE * self.context)

    def __str__(self) -> str:
        return f"context {self.context}, {self.in_flight} in flight"


class Plan(msgspec.Struct, frozen=True):
    """The cells that fit the server, and why others do not."""

    cells: tuple[Cell, ...]
    left_out: tuple[str, ...]
    """A sentence for each context or load that is not measured."""


def plan(
    contexts: Sequence[int],
    loads: Sequence[int],
    tokens: int,
    *,
    least_prompt: float,
    window: int | None,
    slots: int | None,
) -> Plan:
    """Choose the cells.

    Args:
        contexts: Wanted, ascending.
        loads: Requests in flight, wanted, ascending.
        tokens: That each request generates.
        least_prompt: Tokens of the shortest prompt.
        window: Tokens that a request may have; None if that is not known.
        slots: Requests that the server works on at the same time; None if that is not known.
    """
    left_out = []
    fitting = []
    for context in contexts:
        if context - tokens / 2 < least_prompt:
            left_out.append(
                f"context {context} is left out: with {tokens} tokens of output the shortest "
                f"prompt comes to {least_prompt + tokens / 2:.0f}"
            )
        elif window is not None and context + tokens / 2 + _ROOM > window:
            left_out.append(
                f"context {context} is left out: with half of {tokens} tokens of output it does "
                f"not fit into the server's window of {window}"
            )
        else:
            fitting.append(context)
    left_out += [
        f"{load} in flight is left out: the server works on {slots} at a time"
        for load in loads
        if slots is not None and load > slots
    ]
    usable = [load for load in loads if slots is None or load <= slots]
    cells = tuple(Cell(context, load) for context in fitting for load in usable)
    return Plan(cells, tuple(left_out))


def rounds(cells: Sequence[Cell], repeats: int) -> list[tuple[int, Cell]]:
    """Return all measurements in order, each with its repeat from 0.

    Every cell comes once before any comes again, so that a machine which grows slower does so for
    all alike; every other round runs backwards, for the same reason. Contexts stay in order, so
    that a prompt cache is of use.
    """
    order = sorted(cells)
    return [
        (repeat, cell)
        for repeat in range(repeats)
        for cell in (order if repeat % 2 == 0 else reversed(order))
    ]
