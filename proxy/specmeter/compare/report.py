"""The whole comparison as data: what `--json` writes. Pure."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from specmeter.compare import findings
from specmeter.compare.findings import ServerFacts
from specmeter.compare.plan import Side
from specmeter.compare.results import Results
from specmeter.compare.samples import Drafting, Share
from specmeter.compare.verdict import Comparison, Speeds


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, and what came of it."""

    tool: str
    """The version that measured."""
    measured: str
    """When it began, ISO 8601."""
    seed: int
    repeats: int
    concurrency: int
    is_complete: bool
    """False if it was broken off."""
    servers: dict[Side, ServerFacts]
    drafting: dict[Side, Drafting]
    results: Results

    @property
    def notes(self) -> list[str]:
        """What to be careful of."""
        return findings.notes(
            self.results, self.servers[Side.SPEC], self.servers[Side.PLAIN], self.repeats
        )


def as_json(report: Report) -> bytes:
    """Write a report as one JSON object; what is not known is absent."""
    overall = report.results.overall
    spec, plain = report.servers[Side.SPEC], report.servers[Side.PLAIN]
    content = {
        "tool": report.tool,
        "measured": report.measured,
        "seed": report.seed,
        "repeats": report.repeats,
        "concurrency": report.concurrency,
        "complete": report.is_complete,
        "servers": {
            side: {
                **_known(msgspec.to_builtins(facts)),
                "drafts": findings.drafts(report.drafting[side], facts),
                **_drafting(report.drafting[side]),
            }
            for side, facts in report.servers.items()
        },
        "builds": findings.builds(spec, plain),
        "cells": [
            {
                "prompt": one.cell.prompt,
                "length": one.cell.length,
                **_comparison(one.comparison),
                "spec_tokens": one.spec_tokens,
                "plain_tokens": one.plain_tokens,
                "outputs": one.outputs,
                **_drafting(one.drafting),
            }
            for one in report.results.cells
        ],
        **({} if overall is None else {"overall": _comparison(overall)}),
        **_new_prompts(report.results),
        "notes": report.notes,
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def _new_prompts(results: Results) -> dict[str, Any]:
    found = results.new_prompts()
    if found is None:
        return {}
    content = {
        "prompts": found.prompts,
        "speedup": found.speedup.ratio,
        "verdict": found.speedup.verdict,
        "interval": msgspec.to_builtins(found.speedup.interval),
        "output_per_target_step": found.output_per_step,
        "output_per_target_step_later": found.output_per_step_later,
        "drafter_remembers": found.is_remembered,
    }
    return {"new_prompts": _known(content)}


def _comparison(found: Comparison) -> dict[str, Any]:
    return _known(
        {
            "verdict": found.verdict,
            "speedup": found.speedup,
            "worst_case": found.worst,
            "best_case": found.best,
            "least_that_tells": found.noise if math.isfinite(found.noise) else None,
            "spec_tokens_per_second": _speeds(found.spec),
            "plain_tokens_per_second": _speeds(found.plain),
        }
    )


def _speeds(speeds: Speeds) -> dict[str, Any]:
    return {**msgspec.to_builtins(speeds), "range_ratio": speeds.range_ratio}


def _drafting(found: Drafting) -> dict[str, Any]:
    mean_length = found.accepted_per_round.value
    return _known(
        {
            "completions": found.completions,
            "completions_reporting": found.reporting,
            "completions_drafted": found.drafted,
            "acceptance": _share(found.acceptance, "accepted", "drafted"),
            "output_per_target_step": _share(found.output_per_step, "tokens", "steps"),
            "mean_acceptance_length": None
            if mean_length is None
            else {
                "value": 1 + mean_length,
                "accepted": found.accepted_per_round.above,
                "rounds": found.accepted_per_round.below,
            },
        }
    )


def _share(share: Share, above: str, below: str) -> dict[str, Any] | None:
    if share.value is None:
        return None
    return {"value": share.value, above: share.above, below: share.below}


def _known(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, "")}
