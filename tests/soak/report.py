"""What a run found, as Markdown and as JSON."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict

from tests.soak.proxy import ALLOCATOR
from tests.soak.run import Result

_MIB = 1024 * 1024

_TOTALS = {
    "completions": "completions_total",
    "generated tokens": "generated_tokens_total",
    "drafted tokens": "spec_decode_num_draft_tokens_total",
    "accepted tokens": "spec_decode_num_accepted_tokens_total",
    "clients that left": "client_left_total",
    "upstream failures": "upstream_failures_total",
    "answers not read": "unread_completions_total",
    "numbers that cannot be true": "inconsistent_completions_total",
}


def markdown(result: Result) -> str:
    """Return the report for people."""
    plan, tally = result.plan, result.tally
    run = (
        f"{plan.seconds:.0f} s of load by {plan.clients} clients, seed {plan.seed}, "
        f"{plan.workers} worker(s), "
        f"{result.kills} times an upstream was killed and started again; "
        f"Python {platform.python_version()}."
    )
    bytes_seen = (
        f"{sum(tally.kinds.values())} requests, {tally.events} events and "
        f"{tally.body_bytes / _MIB:.0f} MiB of answers, every byte compared: "
        f"{len(tally.problems)} wrong"
    )
    counts = (
        f"{result.series} series of the metrics page compared with what the clients saw: "
        f"{len(result.differences)} differ"
    )
    files = ", ".join(str(rest.open_files) for rest in result.rests)
    lines = [
        f"# Soak: {'passed' if result.passed else 'FAILED'}",
        "",
        run,
        "",
        f"* {bytes_seen}",
        f"* {counts}",
        f"* {_memory(result)}",
        f"* files open at rest: {result.files_at_start} at first, {files}",
        "",
        *_section("What is wrong", [*result.faults, *result.differences, *tally.problems]),
        *_table(("counted", ""), [(name, _total(result, of)) for name, of in _TOTALS.items()]),
        *_table(("kind of request", ""), sorted(tally.kinds.items())),
        *_table(("what clients saw", ""), sorted(tally.outcomes.items())),
    ]
    return "\n".join(lines)


def as_json(result: Result) -> str:
    """Return everything that was found, for machines."""
    tally = result.tally
    return json.dumps(
        {
            "passed": result.passed,
            "plan": asdict(result.plan),
            "kills": result.kills,
            "kinds": tally.kinds,
            "outcomes": tally.outcomes,
            "events": tally.events,
            "body_bytes": tally.body_bytes,
            "totals": {name: _total(result, of) for name, of in _TOTALS.items()},
            "rests": [asdict(rest) for rest in result.rests],
            "memory_growth": result.growth,
            "most_resident_bytes": result.most_resident_bytes,
            "files_at_start": result.files_at_start,
            "faults": result.faults,
            "differences": result.differences,
            "problems": tally.problems,
        },
        indent=2,
    )


def _memory(result: Result) -> str:
    at_rest = ", ".join(
        f"{rest.resident_bytes / _MIB:.1f} after {rest.after_seconds:.0f} s"
        for rest in result.rests
    )
    return (
        f"memory at rest, MiB: {at_rest}; {result.growth:+.1%} from the first rest, after the "
        f"warm-up, to the last (at most {result.most_growth:.0%}; with {' '.join(ALLOCATOR)}); "
        f"under load at most {result.most_resident_bytes / _MIB:.0f}"
    )


def _total(result: Result, family: str) -> int:
    return result.tally.ledger.total(family)


def _section(title: str, items: list[str]) -> list[str]:
    return [f"## {title}", "", *(f"* {item}" for item in items), ""] if items else []


def _table(header: tuple[str, str], rows: list[tuple[str, int]]) -> list[str]:
    return [
        *(f"| {header[0]} | {header[1]} |", "|---|---:|"),
        *(f"| {name} | {value} |" for name, value in rows),
        "",
    ]
