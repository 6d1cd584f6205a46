"""What is known at a moment, for `/metrics` and for people."""

from __future__ import annotations

import msgspec

from specmeter.speedup.baseline import Origin, PlainSpeed, Source
from specmeter.speedup.draft_length import DraftLength
from specmeter.speedup.interval import Speedup, Verdict
from specmeter.speedup.step_cost import StepCost


class BaselineState(msgspec.Struct, frozen=True):
    """One source of plain speed of one model."""

    source: Source
    origin: Origin
    stale: bool
    """Whether the build or the model is another one now."""
    strata: tuple[PlainSpeed, ...]
    """What is known, each stratum once; nothing as long as there are too few samples."""


class ModelState(msgspec.Struct, frozen=True):
    """One model of one upstream."""

    upstream: str
    model_name: str
    baselines: tuple[BaselineState, ...]
    """Best source first."""
    speedup: Speedup | None
    """Over the latest completions; `None` without a baseline."""
    verdict: Verdict
    completions: int
    """Behind `speedup`."""
    seconds_per_step: float | None
    step_cost: StepCost | None
    draft_lengths: tuple[DraftLength, ...]
