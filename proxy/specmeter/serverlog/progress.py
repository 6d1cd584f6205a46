"""A progress bar for logs that take a while."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_SECONDS = 2.0


class ReadingProgress:
    """Shows on stderr how far the reading is, after two seconds and only on a terminal.

    Args:
        total: Bytes to read, `None` where that is unknown.
        is_shown: False where the bar would get between the lines on the screen.
    """

    def __init__(self, total: int | None, *, is_shown: bool) -> None:
        self._total = total
        self._is_shown = is_shown and sys.stderr.isatty()
        self._started = time.monotonic()
        self._read = 0
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, read: int) -> None:
        """Note that so many bytes more have been read."""
        self._read += read
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._read)
        elif self._is_shown and time.monotonic() - self._started > _PATIENCE_SECONDS:
            self._show()

    def _show(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - slow, and seldom of use
        from rich.progress import (  # noqa: PLC0415 - the same
            BarColumn,
            DownloadColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        known = self._total is not None
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("reading the log"),
            *((BarColumn(), TimeRemainingColumn()) if known else ()),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("reading", total=self._total, completed=self._read)
        self._bar.start()
