"""What all tests of the data path have in common: the loop of `specmeter serve`, and no leaks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest_asyncio
import uvloop

from tests.scripted import ScriptedUpstream


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run the tests on the loop that `specmeter serve` runs on."""
    return {"uvloop": uvloop.new_event_loop}


def sockets() -> int:
    """Count the sockets that this process has open."""
    count = 0
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the folder's own
            count += str(path.readlink()).startswith("socket:")
    return count


@pytest_asyncio.fixture(autouse=True)
async def nothing_left() -> AsyncIterator[None]:
    """Fail a test that leaves a task or a socket behind."""
    before = sockets()
    yield
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2):
            while len(asyncio.all_tasks()) > 1 or sockets() > before:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
    assert sockets() <= before


@pytest_asyncio.fixture
async def upstream() -> AsyncIterator[ScriptedUpstream]:
    """Give a server whose script the test writes."""
    async with ScriptedUpstream() as server:
        yield server
