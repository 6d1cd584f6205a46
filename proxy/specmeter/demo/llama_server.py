"""Start a real llama.cpp HTTP server in a process of its own, and stop it again."""

import asyncio
import contextlib
import importlib.util
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from specmeter.demo.llama_process import Drafter
from specmeter.errors import StartupError

_LOG_LINES = 12  # of a server that did not start
_STOP_SECONDS = 5.0
_HEALTH_INTERVAL = 0.05


@dataclass(frozen=True)
class LlamaServer:
    """A running server: its base URL without a slash at the end, process id and log file."""

    url: str
    pid: int
    log_file: Path


@asynccontextmanager
async def running_llama_server(
    model: Path,
    *,
    drafter: Drafter = "none",
    alias: str = "smollm2-135m",
    port: int = 0,
    context: int = 2048,
    slots: int = 1,
    threads: int | None = None,
    log_file: Path | None = None,
    start_seconds: float = 120.0,
) -> AsyncIterator[LlamaServer]:
    """Run a server on 127.0.0.1 for the length of the block; `/metrics` and `/slots` are on.

    Args:
        model: the GGUF file.
        drafter: how it speculates; with `draft-simple` the model drafts for itself.
        alias: the model name it goes by.
        port: 0 lets the system choose.
        context: tokens of context for each slot.
        slots: requests answered at the same time.
        threads: threads for the computation; None leaves it to llama.cpp.
        log_file: where its log is kept; None for a temporary file.
        start_seconds: how long loading the model may take.

    Raises:
        StartupError: llama.cpp is not installed, or the server did not start; with the last
            lines of its log.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise StartupError("llama.cpp is not installed: run `pip install 'specmeter[demo]'`")
    arguments = [
        f"--model={model}",
        f"--alias={alias}",
        f"--drafter={drafter}",
        f"--port={port}",
        f"--context={context}",
        f"--slots={slots}",
    ]
    if threads is not None:
        arguments.append(f"--threads={threads}")
    with contextlib.ExitStack() as stack:
        log = log_file
        if log is None:
            folder = tempfile.TemporaryDirectory(prefix="specmeter-llama-")
            log = Path(stack.enter_context(folder), "llama.log")
        process = await _spawn(arguments, log)
        try:
            url = await _started(process, log, start_seconds)
            yield LlamaServer(url, process.pid, log)
        finally:
            await _stop(process)


async def _spawn(arguments: list[str], log: Path) -> asyncio.subprocess.Process:
    with log.open("wb") as log_handle:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "specmeter.demo.llama_process",
            *arguments,
            stdin=asyncio.subprocess.PIPE,  # never written: its end tells the server to end
            stdout=asyncio.subprocess.PIPE,
            stderr=log_handle,
            process_group=0,  # a terminal's Ctrl-C is for us; we stop it in order
        )


async def _started(process: asyncio.subprocess.Process, log: Path, seconds: float) -> str:
    assert process.stdout is not None  # noqa: S101 - asked for in _spawn
    try:
        async with asyncio.timeout(seconds):
            url = (await process.stdout.readline()).decode().strip()
            if not url:
                code = await process.wait()
                raise StartupError(
                    f"the llama.cpp server did not start (exit code {code}); "
                    f"the end of its log:\n{_tail(log)}"
                )
            await _healthy(url)
    except aiohttp.ClientError as error:
        raise StartupError(
            f"the llama.cpp server at {url} does not answer: {error}; "
            f"the end of its log:\n{_tail(log)}"
        ) from error
    except TimeoutError:
        raise StartupError(
            f"the llama.cpp server was not ready after {seconds:g} s; "
            f"the end of its log:\n{_tail(log)}"
        ) from None
    return url


async def _healthy(url: str) -> None:
    async with aiohttp.ClientSession() as client:
        while True:
            async with client.get(f"{url}/health") as response:
                if response.status == 200:  # noqa: PLR2004
                    return
            await asyncio.sleep(_HEALTH_INTERVAL)


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join(f"  {line}" for line in lines[-_LOG_LINES:])


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):  # it may have ended just now
                process.kill()
    await process.wait()
