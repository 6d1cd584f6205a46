"""Standard input, output or error closed by whoever starts it: served as ever."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress

import pytest

from tests.faults.process import ROOT, SECONDS
from tests.gateway.client import ask
from tests.ports import free_port
from tests.scripted import ScriptedUpstream, answer, response


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
async def test_closed(upstream: ScriptedUpstream, closed: str, workers: str) -> None:
    """It starts, serves a request and ends with status 0, whichever of them are closed."""
    upstream.script = answer(response(b"ok"))
    data, admin = free_address(), free_address()
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'exec "$@" {closed}', "sh"),
        *(sys.executable, "-W", "error", "-m", "specmeter", "serve", "--workers", workers),
        *("--upstream", upstream.url, "--listen", data, "--admin", admin),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    try:
        await until_served(f"http://{data}")
        assert b"specmeter_requests_total" in (await ask(f"http://{admin}", "GET", "/metrics")).body
        assert process.stderr is not None
        async with asyncio.timeout(SECONDS):
            if "2>&-" not in closed:
                await process.stderr.readuntil(b"point clients at")
            process.terminate()
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    assert process.returncode == 0
    assert out == b""
    assert b"Assertion" not in err
    assert b"Traceback" not in err
    assert (b"stopping" in err) is ("2>&-" not in closed)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "code"), [(["healthcheck"], 1), (["serve", "--workers", "x"], 2)]
)
async def test_words_that_nobody_can_read(closed: str, words: list[str], code: int) -> None:
    """What has something to say ends with its own status all the same."""
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-W", "error"),
        *("-m", "specmeter", *words),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SPECMETER_ADMIN": free_address()},
    )
    async with asyncio.timeout(SECONDS):
        _, err = await process.communicate()
    assert process.returncode == code
    assert b"Traceback" not in err


def free_address() -> str:
    """Return where to listen: what cannot speak cannot tell which port it chose."""
    return f"127.0.0.1:{free_port()}"


async def until_served(url: str) -> None:
    """Ask until it answers."""
    async with asyncio.timeout(SECONDS):
        while True:
            with suppress(ConnectionRefusedError):
                assert (await ask(url, "GET", "/page")).body == b"ok"
                return
            await asyncio.sleep(0.02)
