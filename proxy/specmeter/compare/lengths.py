"""Whether a verdict holds beyond the length at which it was measured. Pure."""

from __future__ import annotations

from specmeter.compare.results import CellResult, Results
from specmeter.speedup.interval import Verdict

SAID = {
    Verdict.FASTER: "faster",
    Verdict.SLOWER: "slower",
    Verdict.CANNOT_TELL: "cannot tell from noise",
}
_SAME = 0.9
"""Two lengths that differ by less than this ratio are one."""


def length_notes(results: Results) -> list[str]:
    """Say of which prompts the verdict holds only for the length it was measured at."""
    by_prompt: dict[str, list[CellResult]] = {}
    for one in results.cells:
        by_prompt.setdefault(one.cell.prompt, []).append(one)
    alone: dict[int, list[str]] = {}
    said = []
    for prompt, cells in by_prompt.items():
        lengths = _lengths(cells)
        if len(lengths) == 1:
            alone.setdefault(lengths[0], []).append(prompt)
        elif len({one.comparison.verdict for one in cells}) > 1:
            each = ", ".join(
                f"{SAID[one.comparison.verdict]} at {one.plain_tokens:.0f}" for one in cells
            )
            said.append(
                f"{prompt}: {each} tokens: each verdict holds only for the length it was "
                "measured at"
            )
    for length, prompts in alone.items():
        said.append(
            f"{', '.join(prompts)}: measured at {length} tokens only, and the verdict holds only "
            "for that length; more --lengths tell whether it changes"
        )
    return said


def _lengths(cells: list[CellResult]) -> list[int]:
    """Return the lengths that answers really had, without those that are nearly the same."""
    found: list[int] = []
    for tokens in sorted(one.plain_tokens for one in cells):
        if not found or found[-1] < _SAME * tokens:
            found.append(round(tokens))
    return found
