"""The upstreams' processes: killed and started again, but not just as a client leaves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from tests.benchmarks.processes import running, wait_until_ready
from tests.gateway.client import request
from tests.ports import free_port
from tests.soak.inbox import Inbox
from tests.soak.order import MODELS, Server
from tests.soak.upstream import ARRIVED, GONE


class UpstreamProcess:
    """One upstream, whatever process it is just now."""

    def __init__(self, name: Server, log: Path) -> None:
        self.name = name
        self.port = free_port()
        self.changes = 0
        """Rises whenever it is killed, and once it is there again."""
        self.kills = 0
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self._stack = ExitStack()
        self._holders = 0
        self._wanted = False
        self._condition = asyncio.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        """`None` while it is down."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "tests.soak.upstream", self.name, str(self.port)]
        process = self._stack.enter_context(running(command, self._log))
        await asyncio.to_thread(wait_until_ready, process, self.port, self._log)
        async with self._condition:
            self._process = process
            self.changes += 1
            self._condition.notify_all()

    async def kill(self) -> None:
        """Kill it, once nobody needs it to be steady."""
        async with self._condition:
            self._wanted = True
            await self._condition.wait_for(lambda: not self._holders)
            assert self._process is not None
            self._process.kill()
            self._process.wait()
            self._process = None
            self._wanted = False
            self.changes += 1
            self.kills += 1
            self._condition.notify_all()

    def stop(self) -> str:
        """End it in good order; return what it said of a fault of its own."""
        process = self._process
        self._stack.close()
        if process is None or process.returncode == 0:
            return ""
        return f"upstream {self.name} ended with a fault: {self._log.read_text()[-2000:]}"

    @asynccontextmanager
    async def steady(self) -> AsyncIterator[None]:
        """Keep it from being killed; waits until it is there."""
        async with self._condition:
            await self._condition.wait_for(lambda: self.pid is not None and not self._wanted)
            self._holders += 1
        try:
            yield
        finally:
            async with self._condition:
                self._holders -= 1
                self._condition.notify_all()

    async def arrived(self, number: int) -> int:
        """Wait until a request has reached it; return the process that has it.

        Raises:
            OSError: It is down, or was killed meanwhile.
        """
        return int(await self._ask(f"{ARRIVED}?number={number}"))

    async def gone(self, number: int) -> None:
        """Wait until the proxy has left a request.

        Raises:
            OSError: As above.
        """
        await self._ask(f"{GONE}?number={number}")

    async def _ask(self, target: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request("GET", target))
            inbox = Inbox(reader)
            await inbox.read()
        finally:
            writer.close()
        if not inbox.complete:
            raise ConnectionResetError(f"upstream {self.name} is gone")
        return bytes(inbox.body)


@contextmanager
def upstreams(folder: Path) -> Iterator[dict[Server, UpstreamProcess]]:
    """Make the upstreams; those that run are stopped in the end."""
    made = {name: UpstreamProcess(name, folder / f"{name}.log") for name in MODELS}
    try:
        yield made
    finally:
        for one in made.values():
            one.stop()
