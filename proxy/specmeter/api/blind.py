"""What the meter cannot see of an upstream, why, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from specmeter.tally.counts import Counts
from specmeter.upstream.drafting import Drafting
from specmeter.upstream.upstreams import Upstream

_SILENT = {
    "llama_cpp": "Is it an old build? Newer ones report timings unasked",
    "vllm": "Start it with --per-request-spec-decode-metrics summary and "
    "--enable-per-request-metrics",
    "ollama": 'Its answers never do: give its log, log = "PATH"',
    "openai": "Its kind is not known to report it: token counts and speed are all there is",
    "lm_studio": "Use its own interface, /api/v0",
    "koboldcpp": "It tells of the last generation only: one request at a time is seen",
}

_MISSED = {
    "cannot_connect": "the server could not be reached",
    "connect_timeout": "the server did not take the connection in time",
    "out_of_files": "specmeter could open no more connections: raise its limit of open files",
    "closed_early": "the server closed the connection before it answered",
    "broken_off": "the server broke off in the middle",
    "protocol": "the server broke HTTP",
    "silent": "the server was silent for longer than idle_seconds",
    "client_left": "the client left before the numbers came (for llama.cpp, meter_cancelled = true "
    "reads what came until then)",
    "too_large": "larger than what is read (event_bytes, body_bytes)",
    "compressed": "the server compressed its answer although it was asked not to",
    "not_json": "the answer is no JSON",
    "no_numbers": "the answer has neither token counts nor timings",
    "error_event": "the stream ended with an error of the server",
    "cut_short": "the server broke off before the numbers came",
    "other_choices": "only one of several choices had numbers",
    "reader_failed": "a fault of specmeter itself: its log has it",
    "not_handed_over": "specmeter's main process does not keep up with its workers",
}


def blind_spots(upstream: Upstream, counts: Counts, missed: Mapping[str, int]) -> list[str]:
    """Return sentences.

    Args:
        upstream: What is known of it.
        counts: Of its completions in the range.
        missed: Since the start: requests that brought no numbers, by reason.
    """
    return [*_drafting(upstream, counts), *_numbers(upstream, counts), *_missing(missed)]


def _drafting(upstream: Upstream, counts: Counts) -> Iterator[str]:
    if counts.not_reported:
        hint = _SILENT.get(upstream.kind, "Its version may not report it")
        share = f"{counts.not_reported:.0f} of {counts.completions:.0f} completions"
        yield f"Drafting: {share} say nothing of it. {hint}."
    if upstream.up and upstream.drafting.state is Drafting.UNKNOWN:
        hint = " (llama.cpp tells on /slots: start it with --slots)"
        yield (
            "Whether speculation is configured: neither the server nor a completion has told"
            f"{hint if upstream.kind in {'llama_cpp', ''} else ''}."
        )


def _numbers(upstream: Upstream, counts: Counts) -> Iterator[str]:
    if upstream.up and not upstream.kind:
        yield "Its kind: neither its model list nor an answer has told it yet."
    if counts.drafted and not counts.rounds:
        hint = "" if upstream.settings.log else ' Its log does: log = "PATH".'
        yield (
            "Mean acceptance length: its answers do not say how many rounds had a draft."
            f"{hint if upstream.kind == 'llama_cpp' else ''}"
        )
    if counts.completions and not counts.decode_tokens:
        yield "Speed: no completion of eight tokens or more came with a decode time."


def _missing(missed: Mapping[str, int]) -> Iterator[str]:
    for reason, count in sorted(missed.items(), key=lambda item: -item[1]):
        why = _MISSED.get(reason)
        if why is None:
            code = reason.removeprefix("http_")
            why = f"the answer was HTTP {code}"
        requests = "request" if count == 1 else "requests"
        yield f"{count} {requests} brought no numbers since the start: {why}."
