"""`python -m tests.page.screenshots`: pictures of the page in each of its states, for the docs.

Real llama.cpp servers, the demo's mix of prompts, Debian's Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from itertools import islice
from pathlib import Path

import aiohttp
from playwright.async_api import Browser, async_playwright
from rich.console import Console
from rich.progress import Progress

from specmeter.config import Upstream
from specmeter.demo.llama_process import Drafter
from specmeter.demo.llama_server import running_llama_server
from specmeter.demo.model import find_model
from specmeter.demo.prompts import mix
from tests.page.looking import Look, Scheme, looking
from tests.page.states import PLAIN, Replays, Shown, nothing_there, proxy

_HEIGHT = 1010

State = Callable[[], AbstractAsyncContextManager[Shown]]


def main() -> None:
    """Make the pictures as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.page.screenshots")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), metavar="FOLDER")
    parser.add_argument("--completions", type=int, default=40, help="of each drafter")
    parser.add_argument("--tokens", type=int, default=128, help="of each completion, at most")
    parser.add_argument("--only", action="append", metavar="STATE", help="one state or several")
    args = parser.parse_args()
    states = {
        name: state
        for name, state in _states(args.completions, args.tokens).items()
        if not args.only or name in args.only
    }
    if not states:
        sys.exit(f"--only: no such state; there are {', '.join(_states(0, 0))}")
    args.out.mkdir(parents=True, exist_ok=True)
    asyncio.run(_all(states, args.out))


def _states(completions: int, tokens: int) -> dict[str, State]:
    return {
        "ngram-mod": partial(_compared, "ngram-mod", completions, tokens),
        "draft-simple": partial(_compared, "draft-simple", completions, tokens),
        "no-baseline": partial(_alone, "draft-simple", 3),
        "off": partial(_alone, "none", 3),
        "no-traffic": partial(_alone, "none", 0),
        "down": nothing_there,
    }


async def _all(states: dict[str, State], out: Path) -> None:
    path = shutil.which("chromium")
    if path is None:
        sys.exit("Chromium is not installed: apt-get install chromium")
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(states))
        async with (
            async_playwright() as playwright,
            await playwright.chromium.launch(executable_path=path) as browser,
        ):
            for name, state in states.items():
                progress.update(task, description=name)
                progress.refresh()
                async with state() as shown:
                    await _pictures(browser, shown, out, name)
                progress.advance(task)


async def _pictures(browser: Browser, shown: Shown, out: Path, name: str) -> None:
    has_charts = name in ("ngram-mod", "draft-simple")
    schemes: tuple[Scheme, ...] = ("light", "dark") if has_charts else ("light",)
    for scheme in schemes:
        async with looking(browser, shown.admin_url, 1440, scheme, "5m") as page:
            await page.page.set_viewport_size({"width": 1440, "height": _HEIGHT})
            await _shoot(page, out / f"{name}-{scheme}.png", whole=False)
            if has_charts and scheme == "light":
                await _shoot(page, out / f"{name}-whole.png", whole=True)
    async with looking(browser, shown.admin_url, 390, "dark", "5m") as page:
        await _shoot(page, out / f"{name}-390.png", whole=False)


async def _shoot(page: Look, path: Path, *, whole: bool) -> None:
    await page.page.wait_for_timeout(500)
    await page.page.screenshot(path=path, full_page=whole)


@asynccontextmanager
async def _alone(drafter: Drafter, times: int) -> AsyncIterator[Shown]:
    model = find_model()
    name = PLAIN if drafter == "none" else drafter
    async with (
        running_llama_server(model.path, drafter=drafter, alias=model.name, threads=1) as server,
        proxy(Upstream(url=server.url, name=name)) as shown,
        aiohttp.ClientSession() as client,
    ):
        prompts = mix()
        for _ in range(times):
            await _ask(client, shown, next(prompts).body(model.name))
        yield shown


@asynccontextmanager
async def _compared(drafter: Drafter, completions: int, tokens: int) -> AsyncIterator[Shown]:
    """Send the demo's mix to a drafting server, and have a plain one asked the same."""
    model = find_model()
    async with (
        running_llama_server(model.path, alias=model.name, threads=1) as plain,
        running_llama_server(model.path, drafter=drafter, alias=model.name, threads=1) as server,
        proxy(
            Upstream(url=plain.url, name=PLAIN),
            Upstream(
                url=server.url,
                name=drafter,
                method=drafter,
                plain=PLAIN,
                shadow=1.0,
                shadow_per_minute=6000,
            ),
        ) as shown,
        aiohttp.ClientSession() as client,
    ):
        replays = Replays(shown, drafter)
        for turn, prompt in enumerate(islice(mix(), completions), start=1):
            await _ask(client, shown, prompt.body(model.name) | {"max_tokens": tokens})
            await replays.wait_for(turn)
        yield shown


async def _ask(client: aiohttp.ClientSession, shown: Shown, body: dict[str, object]) -> None:
    url = f"{shown.service.data_url}/v1/chat/completions"
    async with client.post(url, json=body) as response:
        await response.read()


if __name__ == "__main__":
    main()
