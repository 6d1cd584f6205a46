"""Runs `specmeter serve` as a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import specmeter
from tests.gateway.client import Client
from tests.gateway.proxy import ANY_PORT
from tests.scripted import SECONDS

ROOT = Path(specmeter.__file__).parents[1]


@dataclass
class Command:
    """A running `specmeter serve`, and what it has logged so far."""

    process: Process
    log: str = ""

    async def read_until(self, pattern: str) -> re.Match[str]:
        """Read the log up to the first line that matches."""
        assert self.process.stderr is not None
        async with asyncio.timeout(SECONDS):
            while line := (await self.process.stderr.readline()).decode():
                self.log += line
                if match := re.search(pattern, line):
                    return match
        pytest.fail(f"the log ended without {pattern}: {self.log}")

    async def urls(self) -> tuple[str, str]:
        """Return where it takes requests, and where its metrics are."""
        found = await self.read_until(r"point clients at (\S+)/v1;.* metrics are at (\S+)/metrics")
        return found[1], found[2]

    async def end(self) -> int:
        """Wait for its end; return its exit code."""
        async with asyncio.timeout(SECONDS):
            _, rest = await self.process.communicate()
        self.log += rest.decode()
        assert self.process.returncode is not None
        return self.process.returncode


@asynccontextmanager
async def serving(url: str | None, *flags: str, **environment: str) -> AsyncIterator[Command]:
    """Run the command in front of a server; it is killed if it is still there at the end.

    Args:
        url: The server; `None` for those of a file that `flags` name.
        flags: More words of the command line.
        environment: More variables.
    """
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SPECMETER_")}
    words = ["serve", "--listen", ANY_PORT, "--admin", ANY_PORT, *flags]
    words += [] if url is None else ["--upstream", url]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "specmeter", *words),
        stdout=PIPE,
        stderr=PIPE,
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
    )
    command = Command(process)
    try:
        yield command
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def refuses(url: str) -> None:
    """Wait until no new connection is taken."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                await (await Client.connect(url)).close()
            except ConnectionRefusedError:
                return
            except ConnectionResetError:
                pass  # it was waiting in a socket that has just been closed
            await asyncio.sleep(0.02)
