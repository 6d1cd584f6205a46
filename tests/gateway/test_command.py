"""`specmeter serve`, as a process of its own."""

from __future__ import annotations

import asyncio
import signal
import socket

import pytest

from tests.gateway.client import CHAT, STREAM_BODY, Client, ask, chat, request
from tests.gateway.command import refuses, serving
from tests.ports import free_port
from tests.scripted import Gate, ScriptedUpstream, answer, response


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("times", [1, 2])
async def test_signal_during_a_stream(
    upstream: ScriptedUpstream, number: signal.Signals, times: int
) -> None:
    """The stream that runs ends whole, and the exit code is 0, however often it is told."""
    upstream.script = gate = Gate()
    async with serving(upstream.url) as command:
        url, _ = await command.urls()
        async with await Client.connect(url) as client:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            await client.read_until(b"data: 1\n\n")
            command.process.send_signal(number)
            await command.read_until("stopping")
            for _ in range(times - 1):
                command.process.send_signal(number)
                await asyncio.sleep(0.05)
            await refuses(url)
            gate.open.set()
            await client.read_until(b"data: 2\n\n")
            assert (await client.read_to_end()).endswith(b"0\r\n\r\n")
        assert await command.end() == 0
    assert "Traceback" not in command.log


async def test_signal_with_a_client_that_reads_slowly(upstream: ScriptedUpstream) -> None:
    """What the client has not yet taken when the process is told to stop still reaches it."""
    body = bytes(range(256)) * 40_000
    upstream.script = answer(response(body))
    async with serving(upstream.url) as command:
        url, _ = await command.urls()
        async with await Client.connect(url, receive_buffer=4096) as client:
            await client.send(request("GET", "/large"))
            await client.read_until(b"\r\n\r\n")
            command.process.send_signal(signal.SIGTERM)
            await command.read_until("stopping")
            await asyncio.sleep(0.2)
            assert await client.read_to_end() == body
        assert await command.end() == 0


async def test_idle(upstream: ScriptedUpstream) -> None:
    """Told to stop while nothing runs, it ends at once, kept connections or not."""
    upstream.script = answer(response(b"ok"))
    async with serving(upstream.url) as command:
        url, admin = await command.urls()
        async with await Client.connect(url) as client:
            await client.send(request("GET", "/page"))
            assert (await client.answer()).body == b"ok"
            assert b"specmeter_requests_total" in (await ask(admin, "GET", "/metrics")).body
            command.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(2):
                assert await command.end() == 0
            assert await client.ended()


@pytest.mark.parametrize("flag", ["listen", "admin"])
async def test_port_in_use(upstream: ScriptedUpstream, flag: str) -> None:
    """A port that is taken is told with what to do; the exit code is 1."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        async with serving(upstream.url, f"--{flag}", where) as command:
            assert await command.end() == 1
    assert f"{flag}: cannot listen on {where}: address already in use" in command.log
    assert f"--{flag} HOST:PORT" in command.log
    assert "Traceback" not in command.log
    assert "never awaited" not in command.log


@pytest.mark.parametrize("flag", ["listen", "admin"])
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("name", ["no-such-host.invalid", "x" * 64])
async def test_name_that_nobody_knows(
    upstream: ScriptedUpstream, flag: str, workers: str, name: str
) -> None:
    """A name that cannot be found is told as that: there is nothing to stop."""
    where = f"{name}:0"
    async with serving(upstream.url, f"--{flag}", where, "--workers", workers) as command:
        assert await command.end() == 1
    assert f"{flag}: cannot listen on {where}: its name cannot be found: " in command.log
    assert f"--{flag} HOST:PORT" in command.log
    assert "unknown error" not in command.log
    assert "Stop what uses it" not in command.log
    assert "Traceback" not in command.log


@pytest.mark.parametrize("flag", ["listen", "admin"])
@pytest.mark.parametrize("workers", ["1", "2"])
async def test_an_address_of_another_machine(
    upstream: ScriptedUpstream, flag: str, workers: str
) -> None:
    """There is nothing to stop: it says which addresses there are."""
    where = "192.0.2.1:0"  # of the documentation's own network (RFC 5737)
    async with serving(upstream.url, f"--{flag}", where, "--workers", workers) as command:
        assert await command.end() == 1
    said = f"{flag}: cannot listen on {where}: cannot assign requested address. Name an address of"
    assert said in command.log
    assert f"--{flag} HOST:PORT" in command.log
    assert "Stop what uses it" not in command.log
    assert "Traceback" not in command.log


async def test_server_that_is_not_there_yet() -> None:
    """It starts without the server, says so, and serves once the server is there."""
    port = free_port()
    async with serving(f"http://127.0.0.1:{port}") as command:
        url, admin = await command.urls()
        await command.read_until("WARNING.*does not answer: .*refused")
        assert (await ask(admin, "GET", "/healthz")).status == 200
        assert (await ask(admin, "GET", "/readyz")).status == 503
        got = await chat(url)
        assert (got.status, got.error["code"]) == (502, "upstream_cannot_connect")
        async with ScriptedUpstream(script=answer(response(b"ok")), port=port):
            assert (await chat(url)).body == b"ok"
            command.process.send_signal(signal.SIGTERM)
            assert await command.end() == 0


async def test_faults_leave_no_traceback(upstream: ScriptedUpstream) -> None:
    """Faults of servers and clients are no faults of the program: its log holds no traceback."""
    upstream.script = answer(b"garbage\r\n\r\n")
    async with serving(upstream.url, "--log-level", "debug") as command:
        url, _ = await command.urls()
        assert (await chat(url)).status == 502
        for sent in (b"\x00garbage\r\n\r\n", b"GET / HTTP/1.1\r\nA: b\rc\r\n\r\n"):
            async with await Client.connect(url) as client:
                await client.send(sent)
                assert (await client.answer()).status == 400
        async with await Client.connect(url) as client:
            await client.send(request("POST", CHAT, body=b"x" * 1000)[:-500])
            await asyncio.sleep(0.05)
            client.reset()
        command.process.send_signal(signal.SIGTERM)
        assert await command.end() == 0
    assert "Traceback" not in command.log
    assert "garbage" not in command.log
