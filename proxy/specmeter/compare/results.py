"""From the runs of two servers to cells and the whole of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median

import msgspec
from msgspec.structs import replace

from specmeter.compare.samples import Cell, Drafting, Outputs, Run, outputs
from specmeter.compare.verdict import Comparison, Speeds
from specmeter.speedup.interval import Speedup, Sums, speedup

_REMEMBERS = 1.2
"""By this ratio may output per step rise by chance."""


class CellResult(msgspec.Struct, frozen=True):
    """What was measured of one cell."""

    cell: Cell
    spec_runs: tuple[Run, ...]
    plain_runs: tuple[Run, ...]
    usual_spread: float = 1.0
    """Of all cells; see `Comparison`."""

    @property
    def comparison(self) -> Comparison:
        """The speeds of both servers."""
        return Comparison(_speeds(self.spec_runs), _speeds(self.plain_runs), self.usual_spread)

    @property
    def drafting(self) -> Drafting:
        """What the speculative server's completions say."""
        return drafting(self.spec_runs)

    @property
    def outputs(self) -> Outputs:
        """Whether both servers generated the same text."""
        return outputs(self.spec_runs, self.plain_runs)

    @property
    def spec_tokens(self) -> float:
        """That the speculative server's answers had (median)."""
        return _tokens(self.spec_runs)

    @property
    def plain_tokens(self) -> float:
        """That the plain server's answers had (median)."""
        return _tokens(self.plain_runs)

    @property
    def weight(self) -> float:
        """Tokens that the plain server decodes in one run (mean)."""
        return fmean(run.tokens for run in self.plain_runs)


class NewPrompts(msgspec.Struct, frozen=True):
    """What runs say in which a prompt was new to the speculative server.

    Some drafters remember what went through them, so that a prompt is drafted better when it is
    repeated than it was at first.
    """

    prompts: int
    speedup: Speedup
    """With an interval over prompts, if there are enough of them."""
    output_per_step: float | None
    output_per_step_later: float | None
    """Of the same cells' other runs."""

    @property
    def is_remembered(self) -> bool:
        """Whether the drafter shows that it remembers."""
        new, later = self.output_per_step, self.output_per_step_later
        return new is not None and later is not None and later > _REMEMBERS * new


class Results(msgspec.Struct, frozen=True):
    """All that can be told from two servers' runs."""

    cells: tuple[CellResult, ...]
    """In order of prompts and lengths."""
    too_short: tuple[tuple[Cell, int], ...]
    """Cells that are left out, as an answer ended after so many tokens."""

    @classmethod
    def of(cls, order: Iterable[Cell], spec: Sequence[Run], plain: Sequence[Run]) -> Results:
        """Sort runs into cells.

        Args:
            order: The cells in the order in which to show them. One that lacks a server's runs
                is left out.
            spec: Of the speculative server.
            plain: Of the other one.
        """
        cells = []
        too_short = []
        ours, theirs = _by_cell(spec), _by_cell(plain)
        for cell in order:
            if cell not in ours or cell not in theirs:
                continue
            both = (*ours[cell], *theirs[cell])
            if all(run.is_long_enough for run in both):
                cells.append(CellResult(cell, tuple(ours[cell]), tuple(theirs[cell])))
            else:
                too_short.append((cell, min(run.shortest for run in both)))
        usual = median(one.comparison.spread for one in cells) if cells else 1.0
        return cls(tuple(replace(one, usual_spread=usual) for one in cells), tuple(too_short))

    @property
    def overall(self) -> Comparison | None:
        """All cells together, repeat by repeat; `None` if there are none.

        A repeat's speed is that of all cells' tokens one after the other. The tokens are the plain
        server's for both, so that texts of other lengths do not shift the mix.
        """
        if not self.cells:
            return None
        repeats = min(min(len(one.spec_runs), len(one.plain_runs)) for one in self.cells)
        tokens = sum(one.weight for one in self.cells)
        return Comparison(
            Speeds.of(
                [
                    tokens / sum(one.weight / one.spec_runs[at].speed for one in self.cells)
                    for at in range(repeats)
                ]
            ),
            Speeds.of(
                [
                    tokens / sum(one.weight / one.plain_runs[at].speed for one in self.cells)
                    for at in range(repeats)
                ]
            ),
        )

    def new_prompts(self) -> NewPrompts | None:
        """Return what the runs say in which a prompt was new to the speculative server."""
        sums = Sums()
        new: list[Run] = []
        later: list[Run] = []
        for one in self.cells:
            fresh = [run for run in one.spec_runs if run.is_new]
            if not fresh:
                continue
            new += fresh
            later += [run for run in one.spec_runs if not run.is_new]
            spent = one.weight / fmean(run.speed for run in fresh)
            sums += Sums.of(spent, one.weight / one.comparison.plain.median)
        found = speedup(sums)
        if found is None:
            return None
        return NewPrompts(
            prompts=len(new),
            speedup=found,
            output_per_step=drafting(new).output_per_step.value,
            output_per_step_later=drafting(later).output_per_step.value,
        )


def drafting(runs: Iterable[Run]) -> Drafting:
    """Return what the completions of some runs say about drafting."""
    return Drafting.of(reading for run in runs for reading in run.readings)


def _by_cell(runs: Sequence[Run]) -> Mapping[Cell, list[Run]]:
    sorted_runs: dict[Cell, list[Run]] = {}
    for run in runs:
        sorted_runs.setdefault(run.cell, []).append(run)
    return sorted_runs


def _speeds(runs: Sequence[Run]) -> Speeds:
    return Speeds.of([run.speed for run in runs])


def _tokens(runs: Sequence[Run]) -> float:
    return median(reading.generated or 0 for run in runs for reading in run.readings)
