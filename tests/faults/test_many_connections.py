"""Four thousand clients at once, half of them idle: all are served, and nothing is left of them."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.faults.process import MIB, ProxyProcess, proxy_process
from tests.gateway.client import CHAT, STREAM_BODY, Client, request
from tests.scripted import CHUNKED, EVENTS, Call, ScriptedUpstream, answer, chunk, head, response

CLIENTS = 4000
FILES = 2 * CLIENTS + 1000
"""Both sides of the proxy are in one process with their files."""

AT_A_TIME = 200
KEEPS = 8 * MIB
"""By so much the process may be larger after a second wave than after the first one."""

T = TypeVar("T")
R = TypeVar("R")


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    """Let this process, and those that it starts, open so many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES:
        pytest.skip(f"a process may open {hard} files here, {FILES} are needed: raise ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def for_all(these: Iterable[T], do: Callable[[T], Awaitable[R]]) -> list[R]:
    """Do something for each, some at a time."""
    left, done = list(these), []
    while left:
        now, left = left[:AT_A_TIME], left[AT_A_TIME:]
        done += await asyncio.gather(*map(do, now))
    return done


async def get(client: Client) -> None:
    await client.send(request("GET", "/page"))
    assert (await client.answer()).body == b"ok"


async def begin(client: Client) -> None:
    await client.send(request("POST", CHAT, body=STREAM_BODY))
    await client.read_until(b"data: 1\n\n\r\n")


async def end(client: Client) -> None:
    assert await client.read_until(b"0\r\n\r\n") == chunk(b"data: 2\n\n") + chunk(b"")


class Held:
    """Streams a first event, and the rest once it is opened."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self, call: Call) -> None:
        await call.body()
        await call.send(head("200 OK", EVENTS, CHUNKED), chunk(b"data: 1\n\n"))
        await self.open.wait()
        await call.send(chunk(b"data: 2\n\n"), chunk(b""))


async def wave(proxy: ProxyProcess, upstream: ScriptedUpstream) -> None:
    """Have all clients at once, see each of them served, and send them away."""
    upstream.script = held = Held()
    clients: list[Client] = []
    try:
        clients += await for_all([proxy.url] * CLIENTS, Client.connect)
        idle, streaming = clients[::2], clients[1::2]
        await for_all(idle, get)
        await for_all(streaming, begin)
        assert proxy.open_files() > CLIENTS + len(streaming)
        await for_all(idle, get)  # also while the others stream
        held.open.set()
        await for_all(streaming, end)
        await for_all(streaming, get)  # they may go on on the same connection
    finally:
        held.open.set()
        await for_all(clients, Client.close)


async def test_idle_and_streaming_clients(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """Every one of 4,000 gets what it asked for; files and memory are given back."""
    upstream.scripts["/page"] = answer(response(b"ok"))
    config = tmp_path / "specmeter.toml"
    config.write_text(f'[[upstream]]\nname = "u"\nurl = "{upstream.url}"\nkeepalive_seconds = 1\n')
    async with proxy_process("--config", str(config)) as proxy:
        await proxy.until_logged("answers")
        before = proxy.open_files()
        await wave(proxy, upstream)
        await proxy.until_files(before)
        after_one = proxy.memory()
        await wave(proxy, upstream)
        await proxy.until_files(before)
        assert proxy.memory() - after_one < KEEPS
        metrics = await proxy.metrics(lambda m: (m.total("requests_total") or 0) >= 4 * CLIENTS)
        assert metrics.by("requests_total", "code") == {"200": 4 * CLIENTS}
        assert metrics.by("unread_completions_total", "reason") == {"no_numbers": CLIENTS}
        assert metrics.by("upstream_failures_total", "reason") == {}
        assert metrics.by("client_left_total", "endpoint") == {}
        assert proxy.troubles() == []
        assert await proxy.end() == 0
