"""A worker that dies costs what it was carrying, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from specmeter.workers import team
from specmeter.workers.member import WorkerPatience
from tests.gateway.client import CHAT, STREAM_BODY, Client, ask, chat, request
from tests.gateway.plain import completion
from tests.gateway.proxy import Metrics, Proxy, running, until
from tests.scripted import (
    CHUNKED,
    EVENTS,
    SECONDS,
    Call,
    Gate,
    ScriptedUpstream,
    answer,
    chunk,
    head,
    response,
)
from tests.workers.processes import connected, gone, metrics_with, one_on_each, workers_of

CLIENTS = 12
EVENT = b"data: " + completion("x", tokens=41, drafted=30) + b"\n\n"
BODY = chunk(b"data: {}\n\n") + chunk(EVENT) + chunk(b"")


async def slow_stream(call: Call) -> None:
    """Send a stream in three pieces, so that at any moment some are under way."""
    await call.body()
    await call.send(head("200 OK", EVENTS, CHUNKED), chunk(b"data: {}\n\n"))
    await asyncio.sleep(0.005)
    with contextlib.suppress(RuntimeError):  # what uvloop raises when the other side is gone
        await call.send(chunk(EVENT), chunk(b""))


@dataclass
class Load:
    """Clients that ask again and again until they are told to stop."""

    url: str
    stopping: bool = False
    whole: int = 0
    """Answers that came to their end."""
    broken: list[int] = field(default_factory=list)
    """For each answer that did not, the worker that carried it."""

    async def client(self) -> None:
        while not self.stopping:
            client, pid = await connected(self.url, os.getpid())
            async with client:
                await self.ask(client, pid)

    async def ask(self, client: Client, pid: int) -> None:
        while not self.stopping:
            with contextlib.suppress(ConnectionError):
                await client.send(request("POST", CHAT, body=STREAM_BODY))
            got = await client.answer()
            if not got.complete:
                self.broken.append(pid)
                return
            assert got.raw == BODY
            self.whole += 1


def counters(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Return every series that may only rise."""
    return {
        (one.name, *map(str, sorted(one.labels.items()))): one.value
        for one in metrics.samples
        if one.name.endswith(("_total", "_count", "_sum", "_bucket"))
    }


async def test_killed_under_load(upstream: ScriptedUpstream) -> None:
    """Others get every byte, no counter falls, and what clients saw is counted.

    But for what the killed worker was carrying, which is at most one request of each client there.
    """
    upstream.script = slow_stream
    async with running(upstream.url, workers=2) as proxy:
        load = Load(proxy.url)
        clients = [asyncio.create_task(load.client()) for _ in range(CLIENTS)]
        await until(lambda: load.whole > 100)
        before = counters(await proxy.metrics())
        killed, stays = workers_of(os.getpid())
        os.kill(killed, signal.SIGKILL)
        whole = load.whole
        while load.whole < whole + 200:
            now = counters(await proxy.metrics())
            assert all(now[series] >= value for series, value in before.items())
            before = now
            await asyncio.sleep(0.01)
        new = await _another(proxy, killed, stays)
        load.stopping = True
        await asyncio.gather(*clients)
        assert set(load.broken) <= {killed}
        metrics = await proxy.metrics()
        counted = metrics.total("requests_total", code="200") or 0
        assert abs(counted - load.whole) <= len(load.broken)
        assert metrics.by("completions_total", "speculation") == {"drafted": counted}
        assert metrics.total("worker_restarts_total") == 1
        await until(lambda: proxy.service.upstreams.first.load.under_way == 0)
        clients_of = await one_on_each(proxy.url, os.getpid())
        assert set(clients_of) == {stays, new}
        await clients_of[stays].close()
        async with clients_of[new] as client:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            assert (await client.answer()).raw == BODY
        assert (await proxy.metrics()).total("requests_total", code="200") == counted + 1


async def _another(proxy: Proxy, *known: int) -> int:
    """Wait for a new worker that takes connections; return its process."""
    async with asyncio.timeout(10):
        while True:
            client, pid = await connected(proxy.url, os.getpid())
            await client.close()
            if pid not in known:
                return pid


async def test_a_stream_elsewhere_goes_on(
    upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """The death of one worker is no event for a client of another; the log says what happened."""
    upstream.script = gate = Gate()
    async with running(upstream.url, workers=2) as proxy:
        clients = await one_on_each(proxy.url, os.getpid())
        for client in clients.values():
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            await client.read_until(b"data: 1\n\n")
        load = proxy.service.upstreams.first.load
        assert load.under_way == 2
        killed, stays = clients
        os.kill(killed, signal.SIGKILL)
        await clients[killed].read_to_end()
        await until(lambda: load.under_way == 1)
        gate.open.set()
        await clients[stays].read_until(b"data: 2\n\n")
        for client in clients.values():
            await client.close()
    errors = [one.message for one in caplog.records if one.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert "was ended by SIGKILL; the next one starts in" in errors[0]


async def test_what_no_worker_has_taken_yet_waits_for_the_next(upstream: ScriptedUpstream) -> None:
    """Connections that come while a worker is dead are answered, not refused."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url, workers=2) as proxy:
        pids = workers_of(os.getpid())
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        await gone(*pids)
        answers = await asyncio.gather(*(chat(proxy.url) for _ in range(30)))
        assert [got.body for got in answers] == [b"ok"] * 30
        assert (await proxy.metrics()).total("requests_total") == 30


def no_worker_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let another program be started that ends at once."""
    monkeypatch.setattr(sys, "executable", "/bin/false")


async def test_one_that_dies_again_and_again(
    upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connections go to the others; once it can start, it is back."""
    monkeypatch.setattr(team, "_CLIENTS_WAIT_SECONDS", 0.05)
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url, workers=2) as proxy:
        killed, stays = workers_of(os.getpid())
        with monkeypatch.context() as broken:
            no_worker_can_start(broken)
            os.kill(killed, signal.SIGKILL)
            await metrics_with(proxy, "worker_restarts_total", 3)
            for _ in range(16):
                assert (await chat(proxy.url)).body == b"ok"
            assert (await ask(proxy.service.admin_url, "GET", "/readyz")).status == 200
        await _another(proxy, killed, stays)


async def test_none_is_left(upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks whether it is ready learns that it is not, and why; then that it is again."""
    async with running(upstream.url, workers=2) as proxy:
        with monkeypatch.context() as broken:
            no_worker_can_start(broken)
            for worker in workers_of(os.getpid()):
                os.kill(worker, signal.SIGKILL)
            await metrics_with(proxy, "worker_restarts_total", 2)
            got = await ask(proxy.service.admin_url, "GET", "/readyz")
            assert got.status == 503
            assert b"no worker takes connections" in got.body
        async with asyncio.timeout(2 * SECONDS):
            while got.status != 200:
                await asyncio.sleep(0.05)
                got = await ask(proxy.service.admin_url, "GET", "/readyz")


async def test_one_that_hangs(
    upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is replaced, so that no client's connection ends up there for ever."""
    patience = WorkerPatience(answer=2.0, ask_every=0.1)
    monkeypatch.setattr(team, "WorkerPatience", lambda: patience)
    async with running(upstream.url, workers=2) as proxy:
        hangs, stays = workers_of(os.getpid())
        os.kill(hangs, signal.SIGSTOP)
        await gone(hangs)
        await _another(proxy, hangs, stays)
        assert "is killed: it gave no answer for 2 s" in caplog.text


async def test_the_next_one_has_the_keys_of_the_others(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    """A file that has changed since the start, or is gone, does not make them differ."""
    upstream.script = answer(response(b"ok"))
    keys = tmp_path / "keys"
    keys.write_text("sk-one")
    async with running(upstream.url, workers=2, client_keys_file=str(keys)) as proxy:
        keys.unlink()
        killed, stays = workers_of(os.getpid())
        os.kill(killed, signal.SIGKILL)
        await _another(proxy, killed, stays)
        clients = await one_on_each(proxy.url, os.getpid())
        for client in clients.values():
            for key, status in ((b"sk-one", 200), (b"sk-two", 401)):
                await client.send(request("GET", "/page", (b"x-api-key", key)))
                assert (await client.answer()).status == status
            await client.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_only_the_main_process_ends_workers(
    upstream: ScriptedUpstream, number: signal.Signals
) -> None:
    """A signal to all processes, as Ctrl-C or a service manager sends it, is the main one's."""
    upstream.script = answer(response(b"ok"))
    async with running(upstream.url, workers=2) as proxy:
        clients = await one_on_each(proxy.url, os.getpid())
        for pid, client in clients.items():
            os.kill(pid, number)
            await client.send(request("GET", "/page"))
            assert (await client.answer()).body == b"ok"
            await client.close()
        assert workers_of(os.getpid()) == sorted(clients)
        pids = list(clients)
    await gone(*pids)
