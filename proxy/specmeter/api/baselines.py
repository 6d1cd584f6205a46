"""Baselines in words: what a speedup is measured against, and how to get one."""

from __future__ import annotations

import shlex

import msgspec

from specmeter.config import Upstream
from specmeter.speedup.baseline import Source
from specmeter.speedup.state import BaselineState

FILE = "baseline.json"

AGAINST: dict[Source, str] = {
    Source.HOLDOUT: "live requests that the plain server answered instead (holdout)",
    Source.SHADOW: "finished requests replayed on the plain server (shadow)",
    Source.MEASURED: "a file measured on a plain server (baseline_file)",
    Source.FIXED: "a number in the configuration (plain_tokens_per_second)",
    Source.UNDRAFTED: "its own requests in which nothing was drafted (undrafted)",
}

WEAKNESS: dict[Source, str] = {
    Source.HOLDOUT: "",
    Source.SHADOW: "Replays run while nothing else does, so under load it is less exact.",
    Source.MEASURED: "It holds for the same build, model and machine only.",
    Source.FIXED: "One number for every context and load, taken to be 10 % off or less.",
    Source.UNDRAFTED: "A drafter costs time even where it drafts nothing, so the truth is a little "
    "lower.",
}


class BaselineOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """One source of plain speed of one model."""

    source: Source
    text: str
    ready: bool
    """Whether enough is known to compare with."""
    weakness: str = ""
    build: str = ""
    stale: bool = False
    """Whether build or model are others now."""
    measured_at: float | None = None
    """Unix time of its latest part; absent for a number of the configuration."""
    tokens_per_second: float | None = None
    """Of plain decoding; absent if strata differ."""


class Advice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to do, with the exact words to type or to write."""

    text: str
    command: str = ""
    """For a shell."""
    settings: str = ""
    """For the configuration file, below the upstream's `[[upstream]]`."""


def baseline_out(state: BaselineState) -> BaselineOut:
    """Return a baseline as it is told."""
    known = state.strata
    measured = [speed.measured_at for speed in known if speed.source is not Source.FIXED]
    return BaselineOut(
        source=state.source,
        text=AGAINST[state.source],
        ready=bool(known),
        weakness=WEAKNESS[state.source],
        build=state.origin.build[:200],
        stale=state.stale,
        measured_at=max(measured, default=None),
        tokens_per_second=round(1 / known[0].seconds_per_token, 2) if len(known) == 1 else None,
    )


def how_to_get_one(upstream: Upstream) -> list[Advice]:
    """Return the ways to a baseline, the quickest first."""
    url = shlex.quote(upstream.url)
    found = [
        Advice(
            "Measure it once: start this server without speculation, and type",
            command=f"specmeter baseline --upstream {url} --out {FILE}",
        ),
        Advice(
            "Then start it with speculation again, and give the proxy the file",
            settings=f'baseline_file = "{FILE}"',
        ),
    ]
    if upstream.plain and (upstream.holdout or upstream.shadow):
        which = "holdout" if upstream.holdout else "shadow"
        found.insert(
            0,
            Advice(
                f"{which} is on: the first five completions of {upstream.plain} make a baseline. "
                "Wait for them, or"
            ),
        )
    elif upstream.plain:
        found.append(
            Advice(f"Or let {upstream.plain} answer every tenth request", settings="holdout = 0.1")
        )
    else:
        found.append(
            Advice(
                "Or let a plain server, an upstream of its own, answer every tenth request",
                settings='plain = "NAME OF THE PLAIN UPSTREAM"\nholdout = 0.1',
            )
        )
    found.append(
        Advice(
            "Or write down the tokens per second that it had without",
            settings="plain_tokens_per_second = 40.0",
        )
    )
    return found
