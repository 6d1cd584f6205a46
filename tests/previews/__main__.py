"""`python -m tests.previews` runs everything for some minutes and draws what came of it."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from specmeter.demo.llama_process import Drafter
from specmeter.demo.llama_server import LlamaServer, running_llama_server
from specmeter.demo.model import find_model
from tests.grafana.files import DASHBOARD_FILES, load
from tests.previews.asked import Span
from tests.previews.picture import Picture
from tests.programs import REPOSITORY
from tests.watch.stack import MAIN, NGRAM, Llamas, Stack, running_stack
from tests.watch.traffic import repeated_code, repetitive, surprising, varied


async def main(minutes: float, folder: Path) -> None:
    """Draw a picture of each dashboard into a folder."""
    async with AsyncExitStack() as running:
        llamas = Llamas(
            *[await _llama(running, kind) for kind in ("draft-simple", "ngram-mod", "none")]
        )
        with tempfile.TemporaryDirectory(prefix="specmeter-previews-") as files:
            async with running_stack(Path(files), llamas, every="2s") as stack:
                begin = time.time()
                async with asyncio.TaskGroup() as clients:
                    clients.create_task(_main_traffic(stack, minutes * 60))
                    clients.create_task(_ngram_traffic(stack, minutes * 60))
                await asyncio.sleep(4)
                span = Span(stack.prometheus, begin, time.time(), "20s")
                for path in DASHBOARD_FILES:
                    target = folder / f"{path.stem}.png"
                    picture = Picture(load(path.name), span, [MAIN, NGRAM])
                    await asyncio.to_thread(picture.save, target)
                    print(f"{target}: {target.stat().st_size / 1024:.0f} KiB")


async def _llama(running: AsyncExitStack, drafter: Drafter) -> LlamaServer:
    model = find_model()
    return await running.enter_async_context(
        running_llama_server(model.path, drafter=drafter, alias=model.name, slots=2, threads=1)
    )


async def _main_traffic(stack: Stack, seconds: float) -> None:
    """Stories, which the model that drafts for itself guesses well, and slowly."""
    begin, turn = time.monotonic(), 0
    while (gone := (time.monotonic() - begin) / seconds) < 1:
        body = surprising(turn, 24) if turn % 6 == 5 else varied(turn, 40)
        await stack.ask(MAIN, **body, stream=turn % 2 == 0)
        await stack.replayed()
        _say(f"{gone:4.0%} of {seconds:.0f} s, {len(stack.completions)} completions")
        turn += 1
    _say("")


async def _ngram_traffic(stack: Stack, seconds: float) -> None:
    """Some of everything."""
    begin, turn = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        if turn % 8 == 3:
            await stack.ask(NGRAM, "/v1/messages", **repeated_code(turn))
        else:
            body = varied(turn, 40) if turn % 5 == 4 else repetitive(turn, 24 + 8 * (turn % 10))
            await stack.ask(NGRAM, **body, stream=turn % 2 == 0)
        turn += 1


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.previews", description=__doc__)
    parser.add_argument("--minutes", type=float, default=6.0, help="how long to send requests")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "docs" / "images")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(arguments.minutes, arguments.folder))
