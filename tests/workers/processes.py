"""Which worker has which client's connection, as the system tells it (Linux)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.gateway.client import Client
from tests.gateway.proxy import Metrics, Proxy, until
from tests.scripted import SECONDS


def workers_of(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(one) for one in children.read_text().split() if is_worker(int(one))]
    return sorted(found)


def is_worker(pid: int) -> bool:
    """Whether a process is a worker that runs."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return b"specmeter.workers" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


async def connected(url: str, main: int) -> tuple[Client, int]:
    """Connect; return the client and the process of the worker that has its connection."""
    client = await Client.connect(url)
    listen, port = urlsplit(url).port or 0, client._writer.get_extra_info("sockname")[1]
    found: list[int] = []

    def is_taken() -> bool:
        found[:] = _holders(listen, port, workers_of(main))
        return bool(found)

    await until(is_taken)
    return client, found[0]


async def one_on_each(url: str, main: int, count: int = 2) -> dict[int, Client]:
    """Connect until so many workers have a client; return one client for each."""
    clients: dict[int, Client] = {}
    async with asyncio.timeout(SECONDS):
        while len(clients) < count:
            client, pid = await connected(url, main)
            if pid in clients:
                await client.close()
            else:
                clients[pid] = client
    return clients


def _holders(listen: int, client: int, pids: list[int]) -> list[int]:
    """Return the process that has accepted a connection; none if none has yet."""
    ends = f":{listen:04X}", f":{client:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {f"socket:[{x[9]}]" for x in lines if (x[1][-5:], x[2][-5:]) == ends}
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(FileNotFoundError):
                    if str(file.readlink()) in inodes:
                        return [pid]
    return []


async def gone(*pids: int) -> None:
    """Wait until processes have ended, whoever collects them."""
    await until(lambda: not any(_runs(pid) for pid in pids))


async def metrics_with(proxy: Proxy, name: str, value: float) -> Metrics:
    """Scrape until a total has reached a value."""
    async with asyncio.timeout(2 * SECONDS):
        while True:
            metrics = await proxy.metrics()
            if (metrics.total(name) or 0) >= value:
                return metrics
            await asyncio.sleep(0.01)


def _runs(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
