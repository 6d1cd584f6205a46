"""However it ends: what is under way is answered, all of it is counted, and nothing is left."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from specmeter.config import Settings, Upstream
from specmeter.errors import StartupError
from specmeter.service import Service
from specmeter.workers import team
from tests.gateway.client import CHAT, CHAT_BODY, STREAM_BODY, Client, ask, request
from tests.gateway.command import refuses, serving
from tests.gateway.proxy import ANY_PORT, Metrics, until
from tests.scripted import Gate, ScriptedUpstream, answer, response
from tests.workers.processes import gone, one_on_each, workers_of

TWO = ("--workers", "2")


async def service_for(url: str, drain_seconds: float = 5.0) -> Service:
    """Start a service with two workers, for a test that stops it."""
    settings = Settings(
        upstream=(Upstream(url=url),),
        listen=ANY_PORT,
        admin=ANY_PORT,
        workers=2,
        drain_seconds=drain_seconds,
        probe_seconds=3600.0,
    )
    service = Service(settings)
    await service.start()
    return service


def counted(service: Service) -> Metrics:
    """Return what was counted up to the end."""
    return Metrics(generate_latest(service.registry))


async def streaming(url: str, main: int) -> dict[int, Client]:
    """Return a client at each worker, with a stream that has begun."""
    clients = await one_on_each(url, main)
    for client in clients.values():
        await client.send(request("POST", CHAT, body=STREAM_BODY))
        await client.read_until(b"data: 1\n\n")
    return clients


async def test_all_that_ended_while_draining_counts(upstream: ScriptedUpstream) -> None:
    """Streams at both workers end whole and are counted before the service has stopped."""
    upstream.script = gate = Gate()
    service = await service_for(upstream.url)
    clients = await streaming(service.data_url, os.getpid())
    stopping = asyncio.create_task(service.stop())
    await refuses(service.data_url)
    gate.open.set()
    for client in clients.values():
        assert (await client.read_to_end()).endswith(b"0\r\n\r\n")
        await client.close()
    await stopping
    assert counted(service).by("requests_total", "code") == {"200": 2}
    await gone(*clients)


async def test_time_to_drain_is_over(upstream: ScriptedUpstream) -> None:
    """What has not ended by then is cut off, and counts as broken off."""
    upstream.script = Gate()
    service = await service_for(upstream.url, drain_seconds=0.1)
    clients = await streaming(service.data_url, os.getpid())
    await service.stop()
    for client in clients.values():
        await client.read_to_end()
        await client.close()
    assert counted(service).total("client_left_total") == 2
    await gone(*clients)


async def test_a_worker_that_hangs_is_killed(
    upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It does not keep the others from their end, nor the service."""
    monkeypatch.setattr(team, "_GRACE_SECONDS", 0.2)
    upstream.script = answer(response(b"ok"))
    service = await service_for(upstream.url, drain_seconds=0.1)
    clients = await one_on_each(service.data_url, os.getpid())
    hangs, works = clients
    os.kill(hangs, signal.SIGSTOP)
    await clients[works].send(request("GET", "/page"))
    assert (await clients[works].answer()).body == b"ok"
    assert (await ask(service.admin_url, "GET", "/metrics")).status == 200
    await service.stop()
    assert counted(service).total("requests_total") == 1
    for client in clients.values():
        await client.close()
    await gone(*clients)
    assert "was killed: it did not end by itself" in caplog.text


async def test_killed_while_stopping(
    upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker that does not end its answers is told of."""
    upstream.script = gate = Gate()
    service = await service_for(upstream.url)
    clients = await streaming(service.data_url, os.getpid())
    stopping = asyncio.create_task(service.stop())
    await refuses(service.data_url)
    os.kill(next(iter(clients)), signal.SIGKILL)
    gate.open.set()
    await stopping
    for client in clients.values():
        await client.close()
    await gone(*clients)
    assert "was ended by SIGKILL while stopping" in caplog.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_told_to_stop_before_it_has_started(
    upstream: ScriptedUpstream, tmp_path: Path, number: signal.Signals
) -> None:
    """A worker that hangs at its very beginning keeps nobody from stopping."""
    config = tmp_path / "config.toml"
    config.write_text("drain_seconds = 0.1\n")
    async with serving(upstream.url, *TWO, "--config", str(config)) as command:
        main = command.process.pid
        await until(lambda: bool(workers_of(main)))
        hangs = workers_of(main)[0]
        os.kill(hangs, signal.SIGSTOP)
        command.process.send_signal(number)
        assert await command.end() == 0
        await gone(hangs)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_signal_under_load(upstream: ScriptedUpstream, number: signal.Signals) -> None:
    """The command ends with 0 once the streams at all workers have ended, and leaves no worker."""
    upstream.script = gate = Gate()
    async with serving(upstream.url, *TWO) as command:
        url, _ = await command.urls()
        clients = await streaming(url, command.process.pid)
        command.process.send_signal(number)
        await command.read_until("stopping")
        await refuses(url)
        gate.open.set()
        for client in clients.values():
            assert (await client.read_to_end()).endswith(b"0\r\n\r\n")
            await client.close()
        assert await command.end() == 0
        await gone(*clients)
    for trouble in ("Traceback", "WARNING", "ERROR"):
        assert trouble not in command.log


async def test_killed_main_process(upstream: ScriptedUpstream) -> None:
    """Its workers take no more, end what they carry, and are gone; the port is free again."""
    upstream.script = gate = Gate()
    async with serving(upstream.url, *TWO) as command:
        url, _ = await command.urls()
        clients = await streaming(url, command.process.pid)
        command.process.kill()
        await refuses(url)
        gate.open.set()
        for client in clients.values():
            assert (await client.read_to_end()).endswith(b"0\r\n\r\n")
            await client.close()
        await gone(*clients)
        await command.end()
    assert "Traceback" not in command.log
    where = url.removeprefix("http://")
    async with serving(upstream.url, *TWO, "--listen", where) as command:
        assert (await command.urls())[0] == url


async def test_killed_main_process_while_idle(upstream: ScriptedUpstream) -> None:
    """Workers without anything to do are gone at once."""
    async with serving(upstream.url, *TWO) as command:
        await command.urls()
        pids = workers_of(command.process.pid)
        assert len(pids) == 2
        command.process.kill()
        await gone(*pids)


async def test_a_second_one_by_mistake(upstream: ScriptedUpstream) -> None:
    """It fails as it does without workers, though the system would let both have the port."""
    async with serving(upstream.url, *TWO) as first:
        where = (await first.urls())[0].removeprefix("http://")
        for flags in (TWO, ("--workers", "1")):
            async with serving(upstream.url, *flags, "--listen", where) as second:
                assert await second.end() == 1
            assert f"listen: cannot listen on {where}: address already in use" in second.log
            assert "Traceback" not in second.log


async def test_an_admin_port_in_use(upstream: ScriptedUpstream) -> None:
    """Nothing is left of a start that failed."""
    async with serving(upstream.url, *TWO) as first:
        admin = (await first.urls())[1].removeprefix("http://")
        async with serving(upstream.url, *TWO, "--admin", admin) as second:
            assert await second.end() == 1
        assert f"admin: cannot listen on {admin}: address already in use" in second.log
        assert "Traceback" not in second.log


async def test_keys_that_cannot_be_read(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """It is told once, by the main process, before any worker is started."""
    settings = Settings(
        upstream=(Upstream(url=upstream.url),), client_keys_file=str(tmp_path / "none"), workers=2
    )
    with pytest.raises(StartupError, match=r"client_keys_file .* cannot be read"):
        Service(settings)
    assert workers_of(os.getpid()) == []


async def test_main_process_that_hangs(upstream: ScriptedUpstream) -> None:
    """Clients notice nothing, every request counts in the end, and what was dropped is told."""
    body = b'{"choices":[],"x":"' + b"x" * 7_500_000 + b'"}'
    upstream.script = answer(response(body))
    async with serving(upstream.url, *TWO) as command:
        url, admin = await command.urls()
        clients = await one_on_each(url, command.process.pid)
        with ExitStack() as stack:
            command.process.send_signal(signal.SIGSTOP)
            stack.callback(command.process.send_signal, signal.SIGCONT)
            for _ in range(12):
                for client in clients.values():
                    await client.send(request("POST", CHAT, body=CHAT_BODY))
                    assert (await client.answer()).body == body
        for client in clients.values():
            await client.close()
        page = b""

        async with asyncio.timeout(10):
            while Metrics(page).total("requests_total", code="200") != 24:
                page = (await ask(admin, "GET", "/metrics")).body
        unread = Metrics(page).by("unread_completions_total", "reason")
        command.process.terminate()
        assert await command.end() == 0
    assert unread["not_handed_over"] >= 2
    assert sum(unread.values()) == 24


def told_of(pid: int, what: str) -> list[bytes]:
    """Return what the system tells everybody of a process."""
    return Path(f"/proc/{pid}/{what}").read_bytes().split(b"\0")


async def test_no_secrets_in_the_list_of_processes(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    """Workers' arguments say nothing but what they are, and keys are in no environment."""
    keys = tmp_path / "keys"
    keys.write_text("sk-secret")
    config = tmp_path / "config.toml"
    config.write_text(f'workers = 2\nclient_keys_file = "{keys}"\n')
    async with serving(upstream.url, "--config", str(config)) as command:
        url, _ = await command.urls()
        pids = workers_of(command.process.pid)
        assert len(pids) == 2
        for pid in pids:
            assert told_of(pid, "cmdline")[1:] == [
                b"-P",
                b"-Werror",
                b"-m",
                b"specmeter.workers",
                b"",
            ]
            assert not any(b"sk-secret" in one for one in told_of(pid, "environ"))
        upstream.script = answer(response(b"ok"))
        for client in (await one_on_each(url, command.process.pid)).values():
            for key, status in ((b"sk-secret", 200), (b"sk-other", 401)):
                await client.send(request("GET", "/page", (b"x-api-key", key)))
                assert (await client.answer()).status == status
            await client.close()
        assert all(not got.all(b"x-api-key") for got in upstream.requests)
        await until(lambda: len(upstream.requests) == 2)
