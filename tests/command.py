"""Runs the program as a process beside the test's own loop."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import Process
from dataclasses import dataclass
from pathlib import Path

import specmeter

ROOT = Path(specmeter.__file__).parents[1]
SECONDS = 60


@dataclass(frozen=True)
class Done:
    code: int | None
    out: str
    err: str


async def run(*words: str | Path) -> Done:
    """Run a command to its end."""
    return await end(await start(*words))


async def start(*words: str | Path) -> Process:
    """Start a command."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "specmeter",
        *map(str, words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


async def end(process: Process) -> Done:
    """Wait for a command's end, and stop it if that does not come."""
    try:
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Done(process.returncode, out.decode(), err.decode())


def names(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(path.name for path in folder.iterdir())
