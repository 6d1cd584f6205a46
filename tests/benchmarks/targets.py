"""What is measured: the ways from a client to the upstream."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.errors import ProcessError
from tests.benchmarks.others import haproxy, litellm_command, nginx
from tests.benchmarks.processes import running, wait_until_ready
from tests.benchmarks.traffic import MOST_MODELS
from tests.ports import free_port

SPECMETER_COMMAND = (
    "{python} -m specmeter serve --upstream {upstream} --listen {listen} --admin {admin}"
)


@dataclass(frozen=True)
class Target:
    """A server that answers now: a proxy, or the upstream itself.

    Attributes:
        port: where clients connect.
        pid: of its main process.
    """

    port: int
    pid: int


@contextmanager
def open_proxy(
    name: str, upstream: int, folder: Path, specmeter: str = "", litellm: Path | None = None
) -> Iterator[Target]:
    """Start the proxy of this name in front of the upstream, stop it when the block is left.

    Args:
        name: `nginx`, `haproxy`, `naive`, `litellm` or `specmeter`.
        upstream: port of the upstream.
        folder: an empty one for files of the proxy.
        specmeter: the command that starts specmeter, see SPECMETER_COMMAND.
        litellm: the virtual environment that has it.

    Raises:
        ProcessError: it does not start.
    """
    port = free_port()
    ready, patience = "/health", 20.0
    match name:
        case "nginx":
            command = nginx(upstream, port, folder)
        case "haproxy":
            command = haproxy(upstream, port, folder)
        case "naive":
            command = _module("naive_proxy", f"http://127.0.0.1:{upstream}", port)
        case "litellm" if litellm is not None:
            command = litellm_command(litellm, upstream, port, folder)
            ready, patience = "/health/liveliness", 120.0
        case "specmeter":
            command = _specmeter(specmeter or SPECMETER_COMMAND, upstream, port)
        case _:
            raise ValueError(f"unknown proxy {name!r}")
    with answering(command, port, folder / "log", ready, patience) as target:
        yield target


@contextmanager
def many_upstreams(count: int, upstream: int, folder: Path) -> Iterator[Target]:
    """Start specmeter with several upstreams; all are the same server, with models of their own.

    Args:
        count: how many, at most MOST_MODELS.
        upstream: port of the server.
        folder: an empty one for files of the proxy.
    """
    names = [f"model-{i}" for i in range(MOST_MODELS)]
    tables = [
        f'[[upstream]]\nname = "u{i}"\nurl = "http://127.0.0.1:{upstream}"\n'
        f"models = {json.dumps(names[i::count])}\n"
        for i in range(count)
    ]
    config = folder / "specmeter.toml"
    config.write_text("\n".join(tables))
    port = free_port()
    command = (
        f"{{python}} -m specmeter serve --config {config} --listen {{listen}} --admin {{admin}}"
    )
    with answering(_specmeter(command, upstream, port), port, folder / "log") as target:
        yield target


@contextmanager
def open_upstream(rate: float, log: Path) -> Iterator[Target]:
    """Start the upstream, stop it when the block is left.

    Args:
        rate: events per second of each stream.
        log: file for its error output.
    """
    port = free_port()
    with answering(_module("upstream", port, rate), port, log) as target:
        yield target


@contextmanager
def answering(
    command: list[str], port: int, log: Path, ready: str = "/health", patience: float = 20.0
) -> Iterator[Target]:
    """Run a server until the block is left; it answers `ready` within `patience` seconds."""
    with running(command, log) as process:
        wait_until_ready(process, port, log, ready, patience)
        yield Target(port, process.pid)


def _module(name: str, *arguments: object) -> list[str]:
    """The command that runs a module of this folder."""
    return [sys.executable, "-m", f"tests.benchmarks.{name}", *map(str, arguments)]


def _specmeter(command: str, upstream: int, port: int) -> list[str]:
    fields = {
        "python": sys.executable,
        "upstream": f"http://127.0.0.1:{upstream}",
        "listen": f"127.0.0.1:{port}",
        "admin": f"127.0.0.1:{free_port()}",
    }
    try:
        return [word.format_map(fields) for word in shlex.split(command)]
    except (KeyError, ValueError) as error:
        raise ProcessError(
            f"cannot read the command {command!r}: {error}; it may contain "
            + ", ".join(f"{{{name}}}" for name in fields),
        ) from None
