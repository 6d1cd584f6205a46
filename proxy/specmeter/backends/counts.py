"""Unchecked counts as servers send them: added up, and turned round.

What is no number is handed on, to be found wrong by `reading.check`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, zip_longest
from typing import Any

import msgspec

MAX_DRAFT_TOKENS = 4096
"""No draft is longer: what names a longer one is broken."""

_BEYOND_REASON = 1e30


class Drafts(msgspec.Struct, frozen=True):
    """What was drafted for one output: any JSON value, `None` if absent."""

    drafted: Any = None
    accepted: Any = None
    rounds: Any = None
    accepted_per_position: Any = None
    steps: Any = None


NOTHING_KNOWN = Drafts()


def together(outputs: Sequence[Drafts]) -> Drafts:
    """Add up several outputs whose tokens are known as one sum only.

    What one of them does not say is not known of all.
    """
    if len(outputs) == 1:
        return outputs[0]
    return Drafts(
        _total_of_all([one.drafted for one in outputs]),
        _total_of_all([one.accepted for one in outputs]),
        _total_of_all([one.rounds for one in outputs]),
        _position_totals([one.accepted_per_position for one in outputs]),
        _total_of_all([one.steps for one in outputs]),
    )


def read_drafting(
    stats: dict[str, Any], drafted: str, accepted: str, rounds: str, histogram: str
) -> Drafts:
    """Take an output's drafting out of what a server says, by the names it has there."""
    return Drafts(
        stats.get(drafted),
        stats.get(accepted),
        stats.get(rounds),
        count_per_position(stats.get(histogram)),
    )


def total(parts: Iterable[Any]) -> Any:
    """Add what is there; of what is no count the first is handed on."""
    found = None
    for part in parts:
        if part is None:
            continue
        if type(part) is not int or part < 0:
            return part
        found = part if found is None else found + part
    return found


def count_per_position(histogram: Any) -> Any:
    """Turn "rounds with exactly j accepted" into "rounds that accepted position i" (i < j).

    A list has an item for each j from 0. An object names only those j that occurred.
    """
    if isinstance(histogram, dict):
        histogram = _as_list(histogram)
    if histogram == []:
        return None
    if not isinstance(histogram, list) or not all(
        type(rounds) is int and rounds >= 0 for rounds in histogram
    ):
        return histogram  # found wrong by the checks
    at_least = list(accumulate(reversed(histogram)))[::-1]
    return at_least[1:]


def _as_list(histogram: dict[Any, Any]) -> Any:
    rounds: dict[int, Any] = {}
    for key, value in histogram.items():
        if not (isinstance(key, str) and key.isascii() and key.isdecimal()):
            return histogram
        if len(key) > len(str(MAX_DRAFT_TOKENS)) or int(key) > MAX_DRAFT_TOKENS:
            return histogram
        rounds[int(key)] = value
    return [rounds.get(length, 0) for length in range(max(rounds, default=-1) + 1)]


def _total_of_all(parts: Sequence[Any]) -> Any:
    return None if any(part is None for part in parts) else total(parts)


def _position_totals(outputs: Sequence[Any]) -> Any:
    if any(one is None for one in outputs):
        return None
    strange = [one for one in outputs if not isinstance(one, list)]
    if strange:
        return strange[0]
    return [total(column) for column in zip_longest(*outputs, fillvalue=0)]


def scaled(value: Any, factor: float) -> Any:
    """Turn a number into another unit; what is none, or beyond all reason, stays as it is."""
    if type(value) not in (int, float) or not -_BEYOND_REASON < value < _BEYOND_REASON:
        return value
    return value * factor
