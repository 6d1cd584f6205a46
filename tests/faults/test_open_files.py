"""A system that lets the proxy open few files: who is inside is served, the rest is told."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest

from specmeter.gateway.server import ClientPatience
from specmeter.open_files import OWN_FILES, is_out_of_files, room_for_clients
from tests.faults.process import ProxyProcess, proxy_process
from tests.gateway.client import CHAT, STREAM_BODY, Client, ask, chat, request
from tests.gateway.proxy import keep_little, running, until
from tests.scripted import SECONDS, Gate, ScriptedUpstream, answer, response

FILES = 96
NO_GRACE = ClientPatience(grace=0)


@asynccontextmanager
async def full(proxy: ProxyProcess) -> AsyncIterator[list[Client]]:
    """Give clients with a running stream each, so many that there is room for no other."""
    async with AsyncExitStack() as stack:
        inside: list[Client] = []
        while len(inside) < FILES:
            client = await stack.enter_async_context(await Client.connect(proxy.url))
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            if (await client.read_until(b"\r\n")) != b"HTTP/1.1 200 OK\r\n":
                break
            await client.read_until(b"data: 1\n\n")
            inside.append(client)
        yield inside


async def test_more_clients_than_there_are_files(upstream: ScriptedUpstream) -> None:
    """Running streams go on, one more client gets a 503 with the remedy, pages still answer."""
    upstream.script = gate = Gate()
    few = {resource.RLIMIT_NOFILE: FILES}
    async with proxy_process("--upstream", upstream.url, limits=few) as proxy:
        await proxy.until_logged("answers")
        before = proxy.open_files()
        async with full(proxy) as inside:
            assert len(inside) > 10
            for _ in range(50):
                got = await ask(proxy.url, "POST", CHAT, body=STREAM_BODY)
                assert got.status == 503
                assert got.error["code"] == "no_room"
                assert f"{FILES} files" in got.error["message"]
                assert "ulimit -n" in got.error["message"]
                assert got.closes
            assert (await ask(proxy.admin, "GET", "/healthz")).status == 200
            gate.open.set()
            for client in inside:
                await client.read_until(b"data: 2\n\n")
        await until_served(proxy)
        answered = len(inside) + 1
        metrics = await proxy.metrics(lambda m: m.total("requests_total", code="200") == answered)
        assert (metrics.total("requests_total", code="503", upstream="none") or 0) >= 51
        assert metrics.by("upstream_failures_total", "reason") == {}
        await proxy.until_files(before)
        assert await proxy.end() == 0
        told = [line for line in proxy.lines if "clients are refused" in line]
        assert len(told) == 1
        assert "LimitNOFILE" in told[0]
        assert proxy.troubles() == []


async def test_a_flood_is_counted(upstream: ScriptedUpstream) -> None:
    """Each client for which there is no room counts as a 503, also where it is only reset."""
    upstream.script = gate = Gate()
    few = {resource.RLIMIT_NOFILE: FILES}
    async with proxy_process("--upstream", upstream.url, limits=few) as proxy:
        await proxy.until_logged("answers")
        async with full(proxy) as inside, AsyncExitStack() as stack:
            flood = [await Client.connect(proxy.url) for _ in range(100)]
            for client in flood:
                await stack.enter_async_context(client)
            told = [await client.read_to_end() for client in flood]
            assert b"" in told  # reset
            assert all(b"no_room" in one for one in told if one)
            gate.open.set()
            for client in inside:
                await client.read_until(b"data: 2\n\n")
            refused = 1 + len(flood)  # and the one that showed that it is full
            await proxy.metrics(lambda m: m.total("requests_total", code="503") == refused)
        assert proxy.troubles() == []


async def test_a_flood_of_clients_that_say_nothing(upstream: ScriptedUpstream) -> None:
    """Far beyond the limit they keep no core busy, keep nobody out, and are forgotten once gone."""
    upstream.script = gate = Gate()
    gate.open.set()
    few = {resource.RLIMIT_NOFILE: FILES}
    async with proxy_process("--upstream", upstream.url, limits=few) as proxy:
        await proxy.until_logged("answers")
        before = proxy.open_files()
        async with AsyncExitStack() as stack:
            for _ in range(4 * FILES):
                await stack.enter_async_context(await Client.connect(proxy.url))
            used = proxy.cpu_seconds()
            waited = 1.0
            await asyncio.sleep(waited)
            assert proxy.cpu_seconds() - used < waited / 2  # a loop around accept() takes it all
            assert proxy.open_files() <= FILES
            assert (await ask(proxy.admin, "GET", "/healthz")).status == 200
            for _ in range(FILES):
                assert (await chat(proxy.url, STREAM_BODY)).status == 200
            assert proxy.open_files() <= FILES
        await until_served(proxy)
        await proxy.until_files(before)
        # How many came in so fast that those before them were not idle yet is the machine's affair.
        assert len([line for line in proxy.lines if "clients are refused" in line]) <= 1
        assert proxy.troubles() == []


async def test_who_has_to_go(upstream: ScriptedUpstream) -> None:
    """The one that has been idle longest makes room; one that is sending or is served stays."""
    async with running(upstream.url, patience=NO_GRACE) as proxy, AsyncExitStack() as stack:
        proxy.front.server._room = 3

        async def connect() -> Client:
            return await stack.enter_async_context(await Client.connect(proxy.url))

        silent = await connect()
        await until(lambda: len(proxy.front.server.connections) == 1)
        upstream.script = answer(response(b"ok"))
        used = await connect()
        await used.send(request("GET", "/page"))
        assert (await used.answer()).body == b"ok"
        sending = await connect()
        await sending.send(request("GET", "/page")[:-1])
        await until(lambda: any(one.head_since for one in proxy.front.server.connections))
        upstream.script = gate = Gate()
        for leaves in (silent, used):
            await asyncio.sleep(0.01)  # the loop's clock counts milliseconds: now they are idle
            served = await connect()
            await served.send(request("POST", CHAT, body=STREAM_BODY))
            await served.read_until(b"data: 1\n\n")
            assert await leaves.ended()
        got = await ask(proxy.url, "GET", "/page")
        assert (got.status, got.error["code"]) == (503, "no_room")
        gate.open.set()
        await served.read_until(b"data: 2\n\n")
        upstream.script = answer(response(b"ok"))
        await sending.send(request("GET", "/page")[-1:])
        assert (await sending.answer()).body == b"ok"
        metrics = await proxy.metrics()
    assert metrics.by("requests_total", "code") == {"200": 4, "503": 1}


async def test_who_still_takes_an_answer_stays(upstream: ScriptedUpstream) -> None:
    """A client is not idle before it has taken the end of its answer."""
    body = b"x" * 60_000  # less than what has to wait before the upstream has to
    upstream.script = answer(response(body))
    async with running(upstream.url, patience=NO_GRACE) as proxy:
        keep_little(proxy)
        proxy.front.server._room = 1
        async with await Client.connect(proxy.url, receive_buffer=4096) as slow:
            plug = cast("asyncio.Transport", slow._writer.transport)
            plug.pause_reading()
            await slow.send(request("GET", "/page"))
            await until(lambda: bool(upstream.requests))
            await until(lambda: all(one.is_idle for one in proxy.front.server.connections))
            assert (await ask(proxy.url, "GET", "/page")).status == 503
            plug.resume_reading()
            assert (await slow.answer()).body == body
            await slow.send(request("GET", "/page"))
            assert (await slow.answer()).body == body


async def test_who_has_just_come_stays(upstream: ScriptedUpstream) -> None:
    """A client whose request may be on its way is not idle yet, and is served when it comes."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url, patience=ClientPatience(grace=60)) as proxy:
        server = proxy.front.server
        server._room = 1
        async with await Client.connect(proxy.url) as client:
            await until(lambda: len(server.connections) == 1)
            for _ in range(2):
                assert (await ask(proxy.url, "GET", "/page")).status == 503
                await client.send(request("GET", "/page"))
                assert (await client.answer()).body == b"ok"


async def test_who_comes_first_is_served(upstream: ScriptedUpstream) -> None:
    """Many that come at once are served as far as there is room: their requests are on the way."""
    upstream.script = gate = Gate()
    async with running(upstream.url) as proxy, AsyncExitStack() as stack:
        proxy.front.server._room = 4
        where = urlsplit(proxy.url)
        # Without a pause in between, so that the proxy, in the same loop, takes them all at once.
        plugs = [socket.create_connection((where.hostname, where.port)) for _ in range(6)]
        for plug in plugs:
            plug.sendall(request("POST", CHAT, body=STREAM_BODY))
        clients = [Client(*await asyncio.open_connection(sock=plug)) for plug in plugs]
        for client in clients:
            await stack.enter_async_context(client)
        gate.open.set()
        statuses = [(await client.answer()).status for client in clients]
    assert statuses == [200] * 4 + [503] * 2


async def test_files_that_others_use_up(upstream: ScriptedUpstream) -> None:
    """A flood of the admin listener takes no running stream along, and all is well behind it."""
    upstream.script = gate = Gate()
    few = {resource.RLIMIT_NOFILE: FILES}
    async with proxy_process("--upstream", upstream.url, limits=few) as proxy:
        await proxy.until_logged("answers")
        before = proxy.open_files()
        async with (
            await Client.connect(proxy.url) as inside,
            await Client.connect(proxy.url) as idle,
        ):
            await inside.send(request("POST", CHAT, body=STREAM_BODY))
            await inside.read_until(b"data: 1\n\n")
            async with AsyncExitStack() as stack:
                for _ in range(4 * FILES):
                    await stack.enter_async_context(await Client.connect(proxy.admin))
                used = proxy.cpu_seconds()
                waited = 1.0
                await asyncio.sleep(waited)
                assert proxy.cpu_seconds() - used < waited / 2
                await idle.send(request("POST", CHAT, body=STREAM_BODY))
                got = await idle.answer()
                assert got.status == 503
                assert got.error["code"] == "upstream_out_of_files"
                gate.open.set()
                await inside.read_until(b"data: 2\n\n")
            async with asyncio.timeout(SECONDS):
                while proxy.open_files() > before + 4:  # noqa: ASYNC110 - a process tells nobody
                    await asyncio.sleep(0.02)
            await idle.send(request("POST", CHAT, body=STREAM_BODY))
            assert (await idle.answer()).complete
        metrics = await proxy.metrics(lambda m: m.total("requests_total") == 3)
        assert metrics.by("upstream_failures_total", "reason") == {"out_of_files": 1}
        assert metrics.by("requests_total", "code") == {"200": 2, "503": 1}
        await proxy.until_files(before)
        assert await proxy.end() == 0
        assert proxy.troubles() == []


async def until_served(proxy: ProxyProcess) -> None:
    """Wait until there is room again."""
    async with asyncio.timeout(SECONDS):
        while (await chat(proxy.url, STREAM_BODY)).status != 200:  # noqa: ASYNC110 - tells nobody
            await asyncio.sleep(0.02)


async def test_no_file_for_the_connection_to_the_server(upstream: ScriptedUpstream) -> None:
    """Where others use the files up, a request gets a 503 that names the cause, and is counted."""
    upstream.script = Gate()
    upstream.script.open.set()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            await until(lambda: len(proxy.front.server.connections) == 1)
            # The next free number is the first that is not allowed.
            with open("/dev/null") as highest:  # noqa: ASYNC230, PTH123 - only its number matters
                resource.setrlimit(resource.RLIMIT_NOFILE, (highest.fileno(), hard))
            try:
                await client.send(request("POST", CHAT, body=STREAM_BODY))
                got = await client.answer()
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert got.status == 503
            assert got.error["code"] == "upstream_out_of_files"
            assert "ulimit -n" in got.error["message"]
            assert not got.closes
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            assert (await client.answer()).status == 200
        metrics = await proxy.metrics()
        assert metrics.by("upstream_failures_total", "reason") == {"out_of_files": 1}
        assert metrics.by("requests_total", "code") == {"503": 1, "200": 1}


def test_room_is_for_pairs_of_connections() -> None:
    """Each client may need a second connection, and some files are specmeter's own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        room = room_for_clients()
        highest = max(int(name) for name in os.listdir("/dev/fd"))  # noqa: PTH208 - names only
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 2, hard))
        few = room_for_clients()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert few is not None
    assert few >= 1  # never nobody
    assert room is not None
    assert 2 * room + OWN_FILES < 1024 <= 2 * room + OWN_FILES + 200


def test_room_where_the_system_does_not_tell_what_is_open(tmp_path: Path) -> None:
    """Without /proc there may be no such folder; then some files are taken to be open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        assert room_for_clients(str(tmp_path / "none")) == (1024 - 32 - OWN_FILES) // 2
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("number", "is_that"),
    [(errno.EMFILE, True), (errno.ENFILE, True), (errno.ECONNREFUSED, False), (None, False)],
)
def test_what_is_out_of_files(number: int | None, is_that: bool) -> None:
    """Other errors are not taken for it while there are files."""
    error = OSError() if number is None else OSError(number, "text")
    assert is_out_of_files(error) is is_that
