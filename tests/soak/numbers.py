"""The numbers of one completion: as its server writes them, and what they come to when read.

Written down from the definitions, by themselves: nothing here asks specmeter how it reads them.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec

Members = dict[str, Any]

_DRAFT_LENGTH = 4


class Numbers(msgspec.Struct, frozen=True):
    """What a server has to tell."""

    prompt: int
    cached: int
    generated: int
    drafted: int
    accepted: int
    """Fewer than generated."""
    histogram: tuple[int, ...] = ()
    """Item j: rounds in which j drafted tokens were accepted (vLLM)."""
    milliseconds: float = 1.0

    @property
    def rounds(self) -> int:
        return sum(self.histogram)

    def at(self, event: int) -> Numbers:
        """What llama.cpp's timings say on the way, at its token `event` (from 1)."""
        drafted = event if self.drafted else 0
        return msgspec.structs.replace(
            self, generated=event, drafted=drafted, accepted=max(drafted - 1, 0)
        )


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a completion comes to; `None` is what it does not tell."""

    generated: int | None = None
    prompt: int | None = None
    cached: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    rounds: int | None = None
    positions: tuple[int, ...] = ()
    inconsistent: str = ""

    @property
    def speculation(self) -> str:
        if self.drafted is None:
            return "not_reported"
        return "drafted" if self.drafted else "not_drafted"

    @property
    def steps(self) -> int | None:
        """Runs of the target: one for each token that no draft brought, within the floor."""
        if not self.generated or self.accepted is None:
            return None
        floor = 2 if self.drafted and self.generated > 1 else 1
        return max(self.generated - self.accepted, floor)


def some_numbers(dice: random.Random, *, rounds: bool) -> Numbers:
    """Draw numbers; those of a server that counts rounds add up over its rounds."""
    prompt = dice.randint(1, 4000)
    cached = dice.choice((0, prompt // 2))
    milliseconds = dice.uniform(1, 5000)
    if rounds:
        histogram = (*(dice.randint(0, 6) for _ in range(_DRAFT_LENGTH)), dice.randint(1, 6))
        accepted = sum(length * count for length, count in enumerate(histogram))
        generated = accepted + sum(histogram) + dice.randint(0, 50)
        drafted = _DRAFT_LENGTH * sum(histogram)
        return Numbers(prompt, 0, generated, drafted, accepted, histogram, milliseconds)
    generated = dice.randint(1, 400)
    accepted = dice.choice((0, dice.randint(0, generated - 1)))
    drafted = dice.choice((accepted, accepted + dice.randint(0, 200)))
    return Numbers(prompt, cached, generated, drafted, accepted, (), milliseconds)


def llama_timings(numbers: Numbers, damage: str = "") -> Members:
    """Write `timings` as llama.cpp does, maybe with a number that cannot be true."""
    timings: Members = {
        "cache_n": numbers.cached,
        "prompt_n": numbers.prompt - numbers.cached,
        "prompt_ms": 12.5,
        "predicted_n": numbers.generated,
        "predicted_ms": numbers.milliseconds,
    }
    if numbers.drafted or damage:
        timings |= {"draft_n": numbers.drafted, "draft_n_accepted": numbers.accepted}
    match damage:
        case "negative":
            timings["predicted_n"] = -1
        case "wrong_type":
            timings["draft_n"] = "7"
        case "half_reported":
            del timings["draft_n"]
        case "accepted_exceeds_drafted":
            timings["draft_n_accepted"] = numbers.drafted + 1
        case "too_large":
            timings["predicted_n"] = 10**12
        case "accepted_not_below_generated":
            timings["draft_n"] = timings["draft_n_accepted"] = numbers.generated
    return timings


def vllm_usage(numbers: Numbers, damage: str = "") -> Members:
    """Write `usage` as vLLM does."""
    generated = -1 if damage == "negative" else numbers.generated
    return {
        "prompt_tokens": numbers.prompt,
        "total_tokens": numbers.prompt + numbers.generated,
        "completion_tokens": generated,
    }


def vllm_metrics(numbers: Numbers, damage: str = "") -> Members:
    """Write `metrics` as vLLM does."""
    stats: Members = {
        "acceptance_histogram": list(numbers.histogram),
        "num_spec_steps": numbers.rounds,
        "num_accepted_draft_tokens": numbers.accepted,
        "num_draft_tokens": numbers.drafted,
        "num_spec_tokens": _DRAFT_LENGTH,
    }
    match damage:
        case "wrong_type":
            stats["num_draft_tokens"] = "7"
        case "half_reported":
            del stats["num_draft_tokens"]
        case "accepted_exceeds_drafted":
            stats["num_accepted_draft_tokens"] = numbers.drafted + 1
        case "positions_disagree":
            stats["acceptance_histogram"][-1] += 1
        case "rounds_disagree":
            stats["num_spec_steps"] = 0
    return {
        "time_to_first_token_ms": 12.5,
        "generation_time_ms": numbers.milliseconds,
        "speculative_decoding": stats,
    }


LLAMA_DAMAGES = (
    *("negative", "wrong_type", "half_reported", "accepted_exceeds_drafted", "too_large"),
    "accepted_not_below_generated",
)
VLLM_DAMAGES = (
    *("negative", "wrong_type", "half_reported", "accepted_exceeds_drafted"),
    *("positions_disagree", "rounds_disagree"),
)
"""Numbers that cannot be true, by the reason for which they have to be counted."""

_NO_DRAFTING = ("wrong_type", "half_reported", "accepted_exceeds_drafted")
_NO_GENERATED = ("negative", "too_large")


def told_by_llama(numbers: Numbers, damage: str = "") -> Told:
    """Say what its timings come to."""
    drafted: int | None = numbers.drafted
    accepted: int | None = numbers.accepted
    if damage in _NO_DRAFTING:
        drafted = accepted = None
    if damage == "accepted_not_below_generated":
        drafted = accepted = numbers.generated
    return Told(
        generated=None if damage in _NO_GENERATED else numbers.generated,
        prompt=numbers.prompt,
        cached=numbers.cached,
        drafted=drafted,
        accepted=accepted,
        inconsistent=damage,
    )


def told_by_vllm(numbers: Numbers, damage: str = "") -> Told:
    """Say what its usage and metrics come to."""
    drafting = damage not in _NO_DRAFTING
    rounds = drafting and damage != "rounds_disagree"
    return Told(
        generated=None if damage in _NO_GENERATED else numbers.generated,
        prompt=numbers.prompt,
        drafted=numbers.drafted if drafting else None,
        accepted=numbers.accepted if drafting else None,
        rounds=numbers.rounds if rounds else None,
        positions=_positions(numbers) if rounds and damage != "positions_disagree" else (),
        inconsistent=damage,
    )


def _positions(numbers: Numbers) -> tuple[int, ...]:
    """Rounds that accepted the draft's token i (from 0)."""
    return tuple(sum(numbers.histogram[i + 1 :]) for i in range(_DRAFT_LENGTH))
