"""What can be said in sentences: drafts, builds, outputs, and what to be careful of. Pure."""

from __future__ import annotations

import msgspec

from specmeter.compare.lengths import SAID, length_notes
from specmeter.compare.results import Results
from specmeter.compare.samples import Drafting, Outputs
from specmeter.compare.verdict import Comparison
from specmeter.reading import MIN_DECODE_TOKENS, Clock
from specmeter.speedup.interval import Verdict

TIMES = "×"  # noqa: RUF001 - the sign for it
_ENDED = 0.9
_REPORTING = {
    "vllm": "start it with --per-request-spec-decode-metrics summary",
    "sglang": "use a version since August 2026",
    "ollama": "its log tells: specmeter log",
}


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one server."""

    url: str
    model: str | None = None
    backend: str | None = None
    build: str = ""
    speculates: bool | None = None
    """Whether it says that speculation is configured."""
    clock: Clock | None = None


def drafts(found: Drafting, server: ServerFacts) -> str:
    """Say whether there were drafts, and if not, what that means."""
    if not found.completions:
        return "unknown: no completion came"
    if found.drafted:
        return f"drafted in {found.drafted} of {found.completions} completions"
    if not found.reporting:
        remedy = _REPORTING.get(server.backend or "", "only a newer or another server tells")
        return f"not reported: the server says nothing of drafting: {remedy}"
    if server.speculates is None:
        return "nothing was drafted: speculation is off, or found no candidate"
    if server.speculates:
        return "nothing was drafted: speculation is on, and found no candidate"
    return "nothing was drafted: speculation is off, the server says"


def builds(spec: ServerFacts, plain: ServerFacts) -> str:
    """Say whether both servers are the same build and serve the same model."""
    if not spec.build or not plain.build:
        same = "builds unknown: the servers do not tell"
        if spec.build or plain.build:
            same = "builds not compared: one of the servers does not tell"
    elif spec.build == plain.build:
        same = "the same build"
    else:
        same = "different builds, so the speedup is that of the builds too"
    if spec.model and plain.model and spec.model != plain.model:
        same += "; models of different names"
    return same


def verdict(found: Comparison) -> str:
    """Say the verdict, and how far it reaches."""
    said = SAID[found.verdict]
    if found.verdict is Verdict.FASTER:
        return f"{said}, at worst {found.worst:.2f}{TIMES}"
    if found.verdict is Verdict.SLOWER:
        return f"{said}, at best {found.best:.2f}{TIMES}"
    return said


def notes(results: Results, spec: ServerFacts, plain: ServerFacts, repeats: int) -> list[str]:
    """Say what whoever reads the verdicts has to know."""
    said = length_notes(results)
    said += [
        f"{cell}: left out, as an answer ended after {tokens} tokens; {MIN_DECODE_TOKENS} are the "
        "least that tells a speed"
        for cell, tokens in results.too_short
    ]
    for one in results.cells:
        tokens = min(one.spec_tokens, one.plain_tokens)
        if tokens < _ENDED * one.cell.length:
            said.append(f"{one.cell}: the answers ended by themselves after {tokens:.0f}")
    said += _about_outputs(results)
    said += _about_memory(results)
    said += _about_clocks(spec, plain)
    if repeats == 1:
        said.append("one repeat shows no noise, so nothing can be told: give --repeat 3 or more")
    return said


def _about_outputs(results: Results) -> list[str]:
    different = [one for one in results.cells if one.outputs is Outputs.DIFFERENT]
    varying = [one for one in results.cells if one.outputs is Outputs.VARYING]
    said = []
    if different:
        said.append(
            f"outputs differ in {len(different)} of {len(results.cells)} cells though both were "
            "asked greedily: with this drafter, build and quantisation speculation is not lossless"
        )
    if varying:
        said.append(
            f"the plain server's own outputs vary in {len(varying)} of {len(results.cells)} cells, "
            "so whether speculation changes them cannot be told"
        )
    return said


def new_prompts(results: Results, repeats: int) -> str | None:
    """Say how prompts did that were new to the drafter; `None` where that is nothing special."""
    found = results.new_prompts()
    if found is None or not (found.is_remembered or repeats == 1):
        return None
    said = f"{found.speedup.ratio:.2f}{TIMES} over {found.prompts} prompts"
    interval = found.speedup.interval
    if interval is None:
        return f"{said}, too few to tell: give --prompts with more"
    return f"{said} (95 %: {interval.low:.2f} - {interval.high:.2f}): {SAID[found.speedup.verdict]}"


def _about_memory(results: Results) -> list[str]:
    found = results.new_prompts()
    if found is None or not found.is_remembered:
        return []
    note = (
        "the drafter remembers what it has seen: output per target step "
        f"{found.output_per_step:.2f} when a prompt was new, {found.output_per_step_later:.2f} "
        "when it was asked again; the repeats, and so the verdicts, are mostly of the latter"
    )
    return [note]


def _about_clocks(spec: ServerFacts, plain: ServerFacts) -> list[str]:
    clocks = {spec.clock, plain.clock}
    if None in clocks or clocks == {Clock.SERVER}:
        return []
    if len(clocks) > 1:
        said = "one server gives decode times and the other does not: make both report them"
    else:
        said = "the servers give no decode times: these are from streams, first to last piece"
    return [said]
