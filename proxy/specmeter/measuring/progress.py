"""How far a measurement is, and how long it will still take; on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

_MINUTE = 60
_HOUR = 3600


class MeasuringProgress:
    """A bar on a terminal, else a line for each part that is done.

    Args:
        costs: What each part costs beside the others, such as its tokens.
    """

    def __init__(self, costs: list[float]) -> None:
        self._left_costs = sum(costs)
        self._parts = len(costs)
        self._done_parts = 0
        self._done_costs = 0.0
        self._started = time.monotonic()
        console = Console(stderr=True)
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]}"),
                TextColumn("{task.description}", markup=False),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task("starting", total=self._parts, left="")

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, text: str) -> None:
        """Say what is being done now."""
        if self._bar is not None:
            self._bar.update(self._task, description=text)

    def warmed_up(self) -> None:
        """Count the time from here on: what came before was no measurement."""
        self._started = time.monotonic()

    def done(self, cost: float, text: str) -> None:
        """Note that a part has been done, and what came of it."""
        self._done_parts += 1
        self._done_costs += cost
        self._left_costs = max(self._left_costs - cost, 0.0)
        left = self.left()
        if self._bar is not None:
            self._bar.update(self._task, advance=1, left=left, description=text)
        else:
            end = f"; {left}" if self._done_parts < self._parts else ""
            sys.stderr.write(f"{self._done_parts} of {self._parts}: {text}{end}\n")
            sys.stderr.flush()

    def left(self) -> str:
        """Say how long it will still take, going by what is done."""
        if not self._done_costs:
            return ""
        spent = time.monotonic() - self._started
        return f"about {duration(spent * self._left_costs / self._done_costs)} left"


def duration(seconds: float) -> str:
    """Write seconds as people say them."""
    whole = round(seconds)
    if whole < 2 * _MINUTE:
        return f"{whole} s"
    if whole < 2 * _HOUR:
        return f"{round(whole / _MINUTE)} min"
    return f"{whole / _HOUR:.1f} h"
