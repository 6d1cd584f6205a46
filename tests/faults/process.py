"""The proxy as a process of its own, looked at from outside: files, memory, time, metrics."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import specmeter
from tests.gateway.client import ask
from tests.gateway.proxy import ANY_PORT, Metrics

SECONDS = 60.0
"""No wait takes longer, unless something hangs: a busy machine may be slow to start a process."""

ROOT = Path(specmeter.__file__).parents[1]
MIB = 1024 * 1024

ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
"""Has glibc hand large blocks back at once, so that what is kept is what the program keeps."""


@dataclass
class ProxyProcess:
    """A running `specmeter serve`."""

    process: Process
    url: str = ""
    admin: str = ""
    lines: list[str] = field(default_factory=list)
    """Of its log."""

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def cpu_seconds(self) -> float:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes it has in memory."""
        return self._status("VmRSS")

    def most_memory(self) -> int:
        """Return the most it ever had."""
        return self._status("VmHWM")

    def _status(self, name: str) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
        assert found
        return int(found[1]) * 1024

    async def metrics(self, until: Callable[[Metrics], object]) -> Metrics:
        """Scrape until something is counted, which may come a little later than the answer."""
        async with asyncio.timeout(SECONDS):
            while True:
                answer = await ask(self.admin, "GET", "/metrics")
                assert answer.status == 200
                metrics = Metrics(answer.body)
                if until(metrics):
                    return metrics
                await asyncio.sleep(0.02)

    async def until_files(self, most: int) -> None:
        """Wait until it has no more files open than that."""
        async with asyncio.timeout(SECONDS):
            while self.open_files() > most:  # noqa: ASYNC110 - a process tells nobody
                await asyncio.sleep(0.02)

    async def until_logged(self, text: str) -> str:
        """Wait for a line of its log."""
        async with asyncio.timeout(SECONDS):
            while True:
                for line in self.lines:
                    if text in line:
                        return line
                await asyncio.sleep(0.005)

    async def end(self) -> int:
        """Ask it to end, unless that was done; return its exit status."""
        if self.process.returncode is None:
            self.process.terminate()
        async with asyncio.timeout(SECONDS):
            return await self.process.wait()

    def troubles(self) -> list[str]:
        """Return what its log has that nobody wants to see there."""
        marks = ("ERROR", "CRITICAL", "Traceback", "Exception", "Task was destroyed")
        return [line for line in self.lines if any(mark in line for mark in marks)]


@asynccontextmanager
async def proxy_process(
    *flags: str, limits: Mapping[int, int] | None = None
) -> AsyncIterator[ProxyProcess]:
    """Run `specmeter serve`; it is killed if it is still there at the end.

    Args:
        flags: Of the command, `--upstream URL` or `--config FILE` among them.
        limits: By the `RLIMIT_…` of `resource`.
    """
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SPECMETER_")}
    words = ["serve", "--listen", ANY_PORT, "--admin", ANY_PORT, *flags]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "specmeter", *words),
        stderr=PIPE,
        env={**clean, **ALLOCATOR, "PYTHONPATH": str(ROOT)},
        preexec_fn=partial(_limit, limits or {}),
    )
    one = ProxyProcess(process)
    reading = asyncio.create_task(_read(process, one.lines))
    try:
        ready = await one.until_logged("point clients at")
        found = re.search(r"point clients at (\S+)/v1;.* metrics are at (\S+)/metrics", ready)
        assert found
        one.url, one.admin = found[1], found[2]
        yield one
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


async def _read(process: Process, lines: list[str]) -> None:
    assert process.stderr is not None
    while line := await process.stderr.readline():
        lines.append(line.decode())


def _limit(limits: Mapping[int, int]) -> None:
    for which, most in limits.items():
        resource.setrlimit(which, (most, most))
