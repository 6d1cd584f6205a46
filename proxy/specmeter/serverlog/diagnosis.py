"""Why a log has no drafts: the first question whose answer is no."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from specmeter.serverlog import llama_cpp, ollama, sglang, vllm
from specmeter.serverlog.evidence import Sign
from specmeter.serverlog.reader import LogReader
from specmeter.serverlog.totals import Totals


class Diagnosis(msgspec.Struct, frozen=True):
    """The steps of the check that passed, the one that failed, and what to do."""

    passed: tuple[str, ...]
    failed: str
    remedy: str

    def lines(self) -> list[str]:
        """Write it, one step a line."""
        steps = [f"{place}. {step}: yes" for place, step in enumerate(self.passed, 1)]
        last = f"{len(self.passed) + 1}. {self.failed}"
        return ["nothing was drafted in this log", *steps, last, self.remedy]


_SPEC_TYPE = "llama-server needs --spec-type, such as ngram-mod, draft-mtp or draft-simple with -md"


def diagnose(reader: LogReader, totals: Sequence[Totals]) -> Diagnosis | None:
    """Find the step that failed; `None` if something was drafted."""
    if any(total.drafted_entries for total in totals):
        return None
    server = _server(reader, totals)
    if server is None:
        return Diagnosis(
            (),
            f"the log of a known server: no, none of its {reader.lines} lines is one of llama.cpp, "
            "Ollama, vLLM, SGLang or TabbyAPI",
            "Give the server's own log: llama-server writes it to stderr.",
        )
    passed = [f"the log of a known server ({server})"]
    if server in (sglang.SERVER, vllm.SERVER, vllm.SERVER_V0):
        return _windows(reader, server, passed)
    if not totals:
        return _no_requests(reader, server, passed)
    passed.append(f"finished requests ({sum(total.entries for total in totals)})")
    if server == llama_cpp.SERVER:
        return _llama_cpp(reader, totals, passed)
    return _others(totals, passed)


def _others(totals: Sequence[Totals], passed: list[str]) -> Diagnosis:
    if any(total.reporting_entries for total in totals):
        return _no_candidate(passed, "its lines say 0 drafted tokens")
    return Diagnosis(
        tuple(passed),
        "lines about drafts: no",
        "TabbyAPI prints them since June 2026, with draft_mode set to model, mtp or ngram.",
    )


def _server(reader: LogReader, totals: Sequence[Totals]) -> str | None:
    if totals:
        return totals[0].server
    names = {
        Sign.LLAMA_CPP: llama_cpp.SERVER,
        Sign.OLLAMA: ollama.SERVER,
        Sign.VLLM: vllm.SERVER,
        Sign.SGLANG: sglang.SERVER,
    }
    known = reader.evidence.server
    return names[known] if known is not None else None


def _windows(reader: LogReader, server: str, passed: list[str]) -> Diagnosis:
    signs = reader.evidence.signs
    if server == sglang.SERVER:
        return Diagnosis(
            tuple(passed),
            "'accept len' in its 'Decode batch' lines: no",
            "Start SGLang with --speculative-algorithm (EAGLE, EAGLE3, NEXTN, NGRAM, …).",
        )
    if Sign.DISABLED in signs:
        return Diagnosis(
            tuple(passed),
            "speculation set up: no, its start-up line says speculative_config=None",
            "Start vLLM with --speculative-config.",
        )
    asked = "speculation set up" if Sign.ENABLED in signs else None
    return Diagnosis(
        (*passed, asked) if asked else tuple(passed),
        "'SpecDecoding metrics' lines: no",
        "vLLM prints one about every 10 s in which something was drafted: check that it was "
        "started with --speculative-config and without --disable-log-stats, and that the log is "
        "longer than that.",
    )


def _no_requests(reader: LogReader, server: str, passed: list[str]) -> Diagnosis:
    if server == ollama.SERVER:
        return Diagnosis(
            tuple(passed),
            "lines about drafts: no",
            "The MLX runner prints one a request since v0.32.6 (before that with OLLAMA_DEBUG=1), "
            "and none if the request asks for logprobs.",
        )
    cancelled = f", {reader.untimed} ended without" if reader.untimed else ""
    return Diagnosis(
        tuple(passed),
        f"finished requests: no, there is no line with the times of one{cancelled}",
        "Send a completion, and let it end: a cancelled one leaves no numbers in the log.",
    )


def _llama_cpp(reader: LogReader, totals: Sequence[Totals], passed: list[str]) -> Diagnosis:
    signs = reader.evidence.signs
    if Sign.NOT_SUPPORTED in signs:
        return Diagnosis(
            tuple(passed),
            "speculation set up: no, 'speculative decoding not supported by this context'",
            "This model's memory cannot be rolled back: another model, or a newer llama.cpp.",
        )
    if Sign.NO_IMPLEMENTATION in signs and Sign.ENABLED not in signs:
        if Sign.DRAFT_MODEL in signs:
            return Diagnosis(
                tuple(passed),
                "speculation set up: no, a draft model was loaded, yet 'no implementations "
                "specified for speculative decoding'",
                "A draft model alone does nothing: add --spec-type draft-simple.",
            )
        return Diagnosis(
            tuple(passed),
            "speculation set up: no, 'no implementations specified for speculative decoding'",
            f"{_SPEC_TYPE}.",
        )
    if Sign.ENABLED in signs:
        return _no_candidate((*passed, "speculation set up"), "requests finished without a draft")
    if not any(total.reporting_entries for total in totals):
        return Diagnosis(
            tuple(passed),
            "lines about drafts: no, and whether this build prints them is not certain",
            "llama-server prints 'draft acceptance' since March 2025, if anything was drafted.",
        )
    loaded = " (a draft model was loaded)" if Sign.DRAFT_MODEL in signs else ""
    return Diagnosis(
        tuple(passed),
        f"lines about drafts: no{loaded}",
        f"Either speculation is off: {_SPEC_TYPE}. Or it found no candidate: with -lv 4 the log "
        "says at the start 'adding speculative implementation', and /slots has "
        '"speculative": true.',
    )


def _no_candidate(passed: Sequence[str], what: str) -> Diagnosis:
    return Diagnosis(
        tuple(passed),
        f"a candidate to draft: no, {what}",
        "N-gram drafters propose only text that repeats, and no drafter proposes for answers of "
        "one token: try a longer answer that quotes its prompt.",
    )
