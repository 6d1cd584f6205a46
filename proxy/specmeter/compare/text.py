"""The comparison as lines for a terminal, and as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from specmeter.compare import findings
from specmeter.compare.findings import TIMES, ServerFacts
from specmeter.compare.plan import Side
from specmeter.compare.report import Report
from specmeter.compare.results import CellResult
from specmeter.compare.samples import Drafting, Share
from specmeter.compare.verdict import Comparison, Speeds
from specmeter.speedup.interval import Verdict

_HEADS = (
    *("prompt", "length", "plain tok/s", "spec tok/s", "range ratios"),
    *("accept.", "per step", "speedup", "worst - best", "outputs", "verdict"),
)
_LEFT = frozenset((_HEADS[0], *_HEADS[-2:]))
_UNKNOWN = "-"


def as_text(report: Report) -> list[str]:
    """Write a report as plain lines."""
    spec, plain = report.servers[Side.SPEC], report.servers[Side.PLAIN]
    drafting = report.drafting[Side.SPEC]
    lines = [
        f"spec    {_server(spec)}",
        f"plain   {_server(plain)}",
        f"        {findings.builds(spec, plain)}",
        "",
        f"drafts  {findings.drafts(drafting, spec)}",
        *(f"  {name:<22}  {value}" for name, value in _numbers(drafting)),
        "",
    ]
    rows = _rows(report)
    widths = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
    for row in (_HEADS, *rows):
        cells = (
            cell.ljust(width) if head in _LEFT else cell.rjust(width)
            for head, cell, width in zip(_HEADS, row, widths, strict=True)
        )
        lines.append("  ".join(cells).rstrip())
    lines += ["", *_verdicts(report)]
    lines += [f"note: {note}" for note in report.notes]
    lines.append(_how(report))
    return lines


def as_markdown(report: Report) -> list[str]:
    """Write a report as Markdown, to be pasted into an issue."""
    spec, plain = report.servers[Side.SPEC], report.servers[Side.PLAIN]
    drafting = report.drafting[Side.SPEC]
    marks = ["---" if head in _LEFT else "---:" for head in _HEADS]
    return [
        *(f"**{_escaped(line)}**  " for line in _verdicts(report)),
        "",
        f"* spec: {_escaped(_server(spec))}",
        f"* plain: {_escaped(_server(plain))}",
        f"* {findings.builds(spec, plain)}",
        f"* drafts: {findings.drafts(drafting, spec)}",
        *(f"* {name}: {value}" for name, value in _numbers(drafting)),
        "",
        *(_row(row) for row in (_HEADS, marks, *_rows(report))),
        "",
        *(f"* note: {_escaped(note)}" for note in report.notes),
        f"* {_how(report)}",
    ]


def _server(facts: ServerFacts) -> str:
    build = f"build {facts.build}" if facts.build else "build unknown"
    return ", ".join([facts.url, facts.model or "model unknown", facts.backend or "", build])


def _numbers(drafting: Drafting) -> list[tuple[str, str]]:
    """Return each ratio with what it was divided from; those that are not known are left out."""
    found = [
        ("acceptance", drafting.acceptance, 0, "accepted", "drafted"),
        ("output per target step", drafting.output_per_step, 0, "tokens", "target steps"),
        ("mean acceptance length", drafting.accepted_per_round, 1, "accepted", "rounds"),
    ]
    lines = []
    for name, share, more, above, below in found:
        if share.value is not None:
            plus = f"{more} + " if more else ""
            parts = f"{plus}{share.above:.0f} {above} / {share.below:.0f} {below}"
            lines.append((name, f"{share.value + more:.2f} = {parts}"))
    return lines


def _rows(report: Report) -> list[tuple[str, ...]]:
    rows = [_cell(one) for one in report.results.cells]
    overall = report.results.overall
    if overall is not None and len(rows) > 1:
        drafting = report.drafting[Side.SPEC]
        numbers = _speed_cells(overall, drafting)
        rows.append(("all", "", *numbers, "", findings.verdict(overall)))
    return rows


def _cell(one: CellResult) -> tuple[str, ...]:
    numbers = _speed_cells(one.comparison, one.drafting)
    said = findings.verdict(one.comparison)
    return (one.cell.prompt, f"{one.cell.length}", *numbers, one.outputs, said)


def _speed_cells(found: Comparison, drafting: Drafting) -> tuple[str, ...]:
    return (
        _speeds(found.plain),
        _speeds(found.spec),
        f"{found.plain.range_ratio:.2f} {found.spec.range_ratio:.2f}",
        _share(drafting.acceptance),
        _share(drafting.output_per_step),
        f"{found.speedup:.2f}{TIMES}",
        f"{found.worst:.2f} - {found.best:.2f}",
    )


def _speeds(speeds: Speeds) -> str:
    return f"{speeds.median:.1f} ({speeds.slowest:.1f}-{speeds.fastest:.1f})"


def _share(share: Share) -> str:
    return _UNKNOWN if share.value is None else f"{share.value:.2f}"


def _verdicts(report: Report) -> list[str]:
    overall = report.results.overall
    if overall is None:
        return ["verdict: none, as no cell was measured on both servers"]
    said = f"verdict: {findings.verdict(overall)}; speedup {overall.speedup:.2f}{TIMES}"
    verdicts = [one.comparison.verdict for one in report.results.cells]
    told = [one for one in verdicts if one is not Verdict.CANNOT_TELL]
    if len(set(told)) > 1:
        said += " over all cells, of which some are faster and some slower: look at each"
    elif len(set(verdicts)) > 1:
        said += f" over all cells, of which {len(told)} of {len(verdicts)} can be told alone"
    lines = [said]
    if new := findings.new_prompts(report.results, report.repeats):
        lines.append(f"new to the drafter: {new}")
    return lines


def _how(report: Report) -> str:
    said = (
        f"medians of {report.repeats} repeats, in random order (--seed {report.seed}), "
        f"{report.concurrency} at a time; tok/s = decoded tokens / decode seconds; "
        "worst = slowest spec / fastest plain"
    )
    return said if report.is_complete else f"{said}; broken off before its end"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
