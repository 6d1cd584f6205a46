"""What the demo shows while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.spinner import Spinner

from specmeter.demo.table import row_line, rows_table, totals_lines, totals_table
from specmeter.demo.traffic import Results, Row

_LINES_BESIDE_ROWS = 17  # headings, totals of two upstreams and the line below them
_FEWEST_ROWS = 3


class LiveResults(Results):
    """Results that show themselves: a live table on a terminal, else a line as each comes in."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def add(self, row: Row) -> None:
        """Take in one completion, and write its line unless the table shows it."""
        super().add(row)
        if not self._console.is_terminal:
            say(self._console, row_line(row))

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the results for the length of the block, the totals at its end."""
        if self._console.is_terminal:
            with Live(get_renderable=self._view, console=self._console):
                yield
            return
        try:
            yield
        finally:
            for line in totals_lines(self.totals):
                say(self._console, line)

    def _view(self) -> RenderableType:
        fitting = max(self._console.height - _LINES_BESIDE_ROWS, _FEWEST_ROWS)
        parts: list[RenderableType] = []
        if self.rows:
            parts += [
                rows_table(list(self.rows)[-fitting:], self._console.width),
                "",
                totals_table(self.totals),
            ]
        if self.asking is not None:
            parts.append(Spinner("dots", text=f"{self.asking} (Ctrl-C ends the demo)"))
        return Group(*parts)


def say(console: Console, text: str) -> None:
    """Print text as it is: unstyled, never wrapped, so that it can be copied."""
    console.print(text, soft_wrap=True, markup=False, highlight=False)


@contextmanager
def steps(console: Console, count: int) -> Iterator[Progress]:
    """Show a bar for a start of that many steps; each is announced by `next_step`."""
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    progress.add_task("starting", total=count)
    with progress:
        yield progress


def next_step(progress: Progress, text: str) -> None:
    """Announce the next step, which ends the one before it."""
    (task,) = progress.tasks
    begun = task.fields.get("begun", False)
    progress.update(task.id, description=text, advance=int(begun), begun=True)
    if not progress.console.is_terminal:
        say(progress.console, text)
