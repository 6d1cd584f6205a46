"""`python -m tests.benchmarks.agreement`: does the live speedup say what `compare` says?

Real llama.cpp servers, plain, ngram-mod and drafting for itself, each beside a plain one; the same
prompts through `specmeter compare` and through the proxy, with each source of plain speed.
"""

import argparse
import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from specmeter.demo.llama_process import Drafter
from specmeter.demo.llama_server import running_llama_server
from specmeter.demo.model import find_model
from specmeter.speedup.baseline import Source
from tests.real.agreement import Found, compared, live_speedup

DRAFTERS: tuple[Drafter, ...] = ("none", "ngram-mod", "draft-simple")
SOURCES = (Source.MEASURED, Source.SHADOW, Source.HOLDOUT)

Rows = list[tuple[str, Found, dict[Source, tuple[Found, int]]]]


async def measure(options: argparse.Namespace, progress: Progress) -> Rows:
    """Measure everything."""
    model = find_model().path
    rows: Rows = []
    task = progress.add_task("", total=len(DRAFTERS) * (1 + len(SOURCES)))
    for drafter in DRAFTERS:
        with TemporaryDirectory() as name:
            folder = Path(name)
            async with (
                running_llama_server(model, drafter=drafter, slots=2, threads=1) as spec,
                running_llama_server(model, slots=2, threads=1) as plain,
            ):
                progress.update(task, description=f"{drafter}: compare")
                told = await compared(
                    spec, plain, folder, tokens=options.tokens, repeats=options.repeats
                )
                progress.advance(task)
                found = {}
                for source in SOURCES:
                    progress.update(task, description=f"{drafter}: {source}")
                    found[source] = await live_speedup(
                        spec,
                        plain,
                        source,
                        folder,
                        tokens=options.tokens,
                        compared_completions=options.completions,
                    )
                    progress.advance(task)
                rows.append((drafter, told, found))
    return rows


def main() -> None:
    """Measure, print, and fail if any disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=96, help="of each completion")
    parser.add_argument("--repeats", type=int, default=5, help="of compare")
    parser.add_argument("--completions", type=int, default=24, help="to compare for each source")
    options = parser.parse_args()
    console = Console()
    with Progress(console=console) as progress:
        rows = asyncio.run(measure(options, progress))
    table = Table(title="speedup (95 % interval; compare: worst to best case)")
    for heading in ("server", "compare", *SOURCES, "said slower after"):
        table.add_column(heading)
    disagree = False
    for drafter, told, found in rows:
        cells = []
        for source in SOURCES:
            agrees = found[source][0].agrees_with(told)
            disagree |= not agrees
            cells.append(f"{found[source][0]}{'' if agrees else ' DISAGREES'}")
        after = ", ".join(str(found[source][1] or "never") for source in SOURCES)
        table.add_row(drafter, str(told), *cells, after)
    console.print(table)
    sys.exit(int(disagree))


if __name__ == "__main__":
    main()
