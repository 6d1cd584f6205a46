"""The proxy's process: started, and looked at from outside."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from tests.benchmarks.cpu import process_tree
from tests.benchmarks.processes import running, wait_until_ready
from tests.gateway.client import ask
from tests.gateway.proxy import Metrics
from tests.ports import free_port
from tests.soak.order import MODELS
from tests.soak.servers import UpstreamProcess

_PAGE = os.sysconf("SC_PAGE_SIZE")

ALLOCATOR = ("MALLOC_MMAP_THRESHOLD_=131072", "MALLOC_TRIM_THRESHOLD_=131072")
"""Has glibc hand large blocks back at once, and always.

Left to itself it keeps some of them, now more, now fewer: at rest the same process then has 47 to
95 MiB, in which no leak could be seen.
"""

_CONFIG = """
listen = "127.0.0.1:{listen}"
admin = "127.0.0.1:{admin}"
workers = {workers}
probe_seconds = 1.0
drain_seconds = 5.0
"""

# No upstream is slow to connect to on purpose: a starved machine shall not look like a fault.
_UPSTREAM = """
[[upstream]]
name = "{name}"
url = "{url}"
models = {models}
keepalive_seconds = 1.0
connect_seconds = 30.0
meter_cancelled = {metered}
inject = {injects}
"""


@dataclass(frozen=True)
class ProxyProcess:
    """A running `specmeter serve`."""

    process: Popen[str]
    listen: int
    admin: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listen}"

    async def metrics(self) -> Metrics:
        """Read its metrics page."""
        answer = await ask(f"http://127.0.0.1:{self.admin}", "GET", "/metrics")
        assert answer.status == 200
        return Metrics(answer.body)

    def resident_bytes(self) -> int:
        """Memory of its processes."""
        return sum(
            int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
            for pid in process_tree(self.process.pid)
        )

    def open_files(self) -> int:
        """File descriptors of its processes."""
        return sum(
            len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in process_tree(self.process.pid)
        )

    def troubles(self) -> list[str]:
        """Return what its log has that nobody wants to see there."""
        marks = ("ERROR", "CRITICAL", "Traceback", "Exception", "Task was destroyed", "Warning:")
        return [x for x in self.log.read_text().splitlines() if any(mark in x for mark in marks)]

    def stop(self) -> int:
        """Ask it to end; return its exit code."""
        self.process.terminate()
        return self.process.wait(30)


@contextmanager
def proxy(
    upstreams: Iterable[UpstreamProcess], folder: Path, workers: int = 1
) -> Iterator[ProxyProcess]:
    """Run the proxy in front of the upstreams."""
    listen, admin, log = free_port(), free_port(), folder / "proxy.log"
    tables = [
        _UPSTREAM.format(
            name=one.name,
            url=one.url,
            models=list(MODELS[one.name]),
            metered=_toml(one.name == "cancelled"),
            injects=_toml(one.name != "llama"),  # else its requests were all looked at first
        ).replace("'", '"')
        for one in upstreams
    ]
    config = folder / "specmeter.toml"
    config.write_text(_CONFIG.format(listen=listen, admin=admin, workers=workers) + "".join(tables))
    serve = [sys.executable, "-m", "specmeter", "serve", "--config", str(config)]
    command = ["env", *ALLOCATOR, *serve]
    with running(command, log) as process:
        wait_until_ready(process, listen, log)
        yield ProxyProcess(process, listen, admin, log)


def _toml(value: bool) -> str:
    return "true" if value else "false"
