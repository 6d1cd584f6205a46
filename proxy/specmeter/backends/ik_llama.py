"""ik_llama.cpp: llama.cpp's timings, and since July 2026 the drafts by depth.

Source: examples/server/server-task.cpp (`result_timings::to_json`) of ik_llama.cpp. Streams carry
timings on every chunk, also those of Anthropic's API (but for its last event).
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from specmeter.backends.base import Message
from specmeter.backends.counts import MAX_DRAFT_TOKENS
from specmeter.backends.llama_cpp import LlamaCpp
from specmeter.backends.timings import Timings, timings_of
from specmeter.reading import RawNumbers


class IkLlama(LlamaCpp):
    """Reads `timings` with its `draft_by_depth`."""

    name = "ik_llama"
    injection = None

    def recognises(self, message: Message) -> bool:
        """Tell by what only its timings have: the depths, or how far the context is used."""
        timings = timings_of(message)
        return "draft_by_depth" in timings or "n_past" in timings

    def _read(self, timings: Timings) -> RawNumbers:
        numbers = super()._read(timings)
        depths = timings.get("draft_by_depth")
        if depths is None:
            return numbers
        rounds, accepted = _read_depths(depths)
        return replace(numbers, rounds=rounds, accepted_per_position=accepted)


def _read_depths(depths: Any) -> tuple[Any, Any]:
    """Return the rounds and the accepted tokens per position, or what is wrong with them.

    A draft has a token at depth 1 if it has any, so the drafts that reached it are the rounds.
    Depths that no draft reached are left out.
    """
    if not isinstance(depths, list):
        return None, depths
    rounds = None
    accepted: dict[int, Any] = {}
    for item in depths:
        depth = item.get("depth") if isinstance(item, dict) else None
        if type(depth) is not int or not 1 <= depth <= MAX_DRAFT_TOKENS or depth in accepted:
            return None, {}  # found wrong by the checks
        accepted[depth] = item.get("draft_n_accepted")
        if depth == 1:
            rounds = item.get("draft_n")
    deepest = max(accepted, default=0)
    return rounds, [accepted.get(depth, 0) for depth in range(1, deepest + 1)] or None
