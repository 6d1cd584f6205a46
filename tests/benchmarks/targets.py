"""What is measured: the ways from a client to the upstream."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.errors import ProcessError
from tests.benchmarks.processes import free_port, running, wait_until_ready

SPECMETER_COMMAND = (
    "{python} -m specmeter serve --upstream {upstream} --listen {listen} --admin {admin}"
)

_NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
lock_file {folder}/nginx.lock;
error_log stderr warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000;
    upstream model {{
        server 127.0.0.1:{upstream};
        keepalive 128;
        keepalive_requests 1000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://model;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
        }}
    }}
}}
"""


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
def open_proxy(name: str, upstream: int, folder: Path, specmeter: str) -> Iterator[Target]:
    """Start the proxy of this name in front of the upstream, stop it when the block is left.

    Args:
        name: `nginx`, `naive` or `specmeter`.
        upstream: port of the upstream.
        folder: an empty one for files of the proxy.
        specmeter: the command that starts specmeter, see SPECMETER_COMMAND.

    Raises:
        ProcessError: it does not start.
    """
    port = free_port()
    match name:
        case "nginx":
            command = _nginx(upstream, port, folder)
        case "naive":
            command = _module("naive_proxy", f"http://127.0.0.1:{upstream}", port)
        case "specmeter":
            command = _specmeter(specmeter, upstream, port)
        case _:
            raise ValueError(f"unknown proxy {name!r}")
    with _answering(command, port, folder / "log") as target:
        yield target


@contextmanager
def open_upstream(rate: float, log: Path) -> Iterator[Target]:
    """Start the upstream, stop it when the block is left.

    Args:
        rate: events per second of each stream.
        log: file for its error output.
    """
    port = free_port()
    with _answering(_module("upstream", port, rate), port, log) as target:
        yield target


def nginx_path() -> str:
    """Where nginx is.

    Raises:
        ProcessError: it is not installed.
    """
    path = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if path is None:
        raise ProcessError("nginx is neither on PATH nor in /usr/sbin: install Debian's `nginx`")
    return path


@contextmanager
def _answering(command: list[str], port: int, log: Path) -> Iterator[Target]:
    with running(command, log) as process:
        wait_until_ready(process, port, log)
        yield Target(port, process.pid)


def _module(name: str, *arguments: object) -> list[str]:
    """The command that runs a module of this folder."""
    return [sys.executable, "-m", f"tests.benchmarks.{name}", *map(str, arguments)]


def _nginx(upstream: int, port: int, folder: Path) -> list[str]:
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(folder=folder, upstream=upstream, port=port))
    return [nginx_path(), "-e", "stderr", "-p", str(folder), "-c", str(config)]


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
