"""Starting and stopping the processes of a run."""

import http.client
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.benchmarks.cpu import process_tree
from tests.benchmarks.errors import ProcessError

ROOT = Path(__file__).parents[2]
_PAUSE = 0.02  # seconds between two attempts
_STOP = 10.0  # seconds that it has to end after SIGTERM


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process in the background; it ends, with its children, when the block is left.

    Args:
        command: what to run, from the repository's root.
        log: file that its output is added to.
    """
    with log.open("a") as output:
        try:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                process_group=0,  # Ctrl-C reaches the benchmark alone, which stops the others
            )
        except OSError as error:
            raise ProcessError(f"cannot run {command[0]!r}: {error}") from error
    with process:
        try:
            yield process
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    tree = process_tree(process.pid)
    process.terminate()
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        for pid in tree:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def wait_until_ready(
    process: subprocess.Popen[str],
    port: int,
    log: Path,
    path: str = "/health",
    patience: float = 20.0,
) -> None:
    """Wait until the process passes a request on to the upstream, or answers it itself.

    Args:
        process: what was started.
        port: where it listens.
        log: the file that its output goes to.
        path: what is asked for.
        patience: seconds that it has to answer its first request.

    Raises:
        ProcessError: it ended, or does not answer in time; says what it logged.
    """
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ProcessError(
                f"{process.args!r} ended with status {process.returncode}:\n{_tail(log)}",
            )
        if _answers(port, path):
            return
        time.sleep(_PAUSE)
    raise ProcessError(
        f"{process.args!r} did not answer on port {port} within {patience:.0f} s:\n{_tail(log)}",
    )


def _tail(log: Path) -> str:
    return log.read_text()[-2000:] or "(it logged nothing)"


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
