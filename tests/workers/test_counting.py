"""Two workers, one truth: what both carry is counted once, and all of it."""

import asyncio
import os
from pathlib import Path

import orjson

from tests.answers import DONE
from tests.gateway.client import CHAT, CHAT_BODY, STREAM_BODY, Client, ask, chat, request
from tests.gateway.plain import completion
from tests.gateway.proxy import Metrics, Proxy, running, until
from tests.scripted import (
    CHUNKED,
    EVENTS,
    Call,
    Gate,
    ScriptedUpstream,
    answer,
    chunked,
    event_stream,
    head,
    response,
    then_hang,
)
from tests.workers.processes import metrics_with, one_on_each, workers_of

ANSWER = completion("x", tokens=41, drafted=30)


async def each(proxy: Proxy) -> list[Client]:
    """Return two clients, one at each worker."""
    return list((await one_on_each(proxy.url, os.getpid())).values())


async def test_totals_are_of_both(upstream: ScriptedUpstream) -> None:
    """Clients at both workers get every byte, and each of their requests counts once."""
    upstream.script = answer(response(ANSWER))
    async with running(upstream.url, workers=2) as proxy:
        clients = await each(proxy)
        for number in range(20):
            client = clients[number % 2]
            await client.send(request("POST", CHAT, body=CHAT_BODY))
            assert (await client.answer()).body == ANSWER
            metrics = await proxy.metrics()
            assert metrics.total("requests_total") == number + 1  # at once, as with one process
        for client in clients:
            await client.close()
        assert metrics.by("requests_total", "code") == {"200": 20}
        assert metrics.by("completions_total", "speculation") == {"drafted": 20}
        assert metrics.total("spec_decode_num_draft_tokens_total") == 20 * 30
        assert metrics.total("generated_tokens_total") == 20 * 41
        assert metrics.total("worker_restarts_total") == 0
        assert metrics.total("overhead_seconds_count") == 20
    assert upstream.connections >= 2


async def test_a_scrape_right_behind_an_answer(upstream: ScriptedUpstream) -> None:
    """It shows every answer that a client has, also the one that it got just now."""
    upstream.script = answer(response(ANSWER))
    async with running(upstream.url, workers=2, backend="llama_cpp") as proxy:
        for number in range(1, 31):
            await chat(proxy.url)
            metrics = Metrics((await ask(proxy.service.admin_url, "GET", "/metrics")).body)
            assert metrics.total("requests_total") == number


async def test_streams_are_read_in_the_main_process(upstream: ScriptedUpstream) -> None:
    """A stream's numbers and times arrive with its copy: the times are of one clock."""
    last = orjson.loads(ANSWER) | {"choices": [{"index": 0, "delta": {"content": "x"}}]}
    pieces = [b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'] * 5
    upstream.script = event_stream(*pieces, b"data: %b\n\n" % orjson.dumps(last), DONE)
    async with running(upstream.url, workers=2) as proxy:
        before = asyncio.get_running_loop().time()
        await chat(proxy.url, STREAM_BODY)
        await proxy.metrics()
        after = asyncio.get_running_loop().time()
        (seen,) = proxy.seen
    assert (seen.streamed, seen.reading.generated, seen.reading.drafted) == (True, 41, 30)
    assert seen.time_to_first_token is not None
    assert seen.duration is not None
    assert 0 <= seen.time_to_first_token <= seen.duration <= after - before + 0.01


async def test_what_has_no_answer_counts_too(upstream: ScriptedUpstream) -> None:
    """Bad requests, failures of the server and clients that leave are counted by reason."""
    async with running(upstream.url, workers=2) as proxy:
        upstream.script = then_hang(head("200 OK", EVENTS, CHUNKED))
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            await client.read_until(b"\r\n\r\n")
        upstream.script = answer(b"garbage\r\n\r\n")
        assert (await chat(proxy.url)).status == 502
        async with await Client.connect(proxy.url) as client:
            await client.send(b"\x00\r\n\r\n")
            assert (await client.answer()).status == 400
        metrics = await metrics_with(proxy, "client_left_total", 1)
    assert metrics.by("upstream_failures_total", "reason") == {"protocol": 1}
    assert metrics.by("requests_total", "code") == {"200": 1, "502": 1, "400": 1}


async def test_in_flight_is_of_both(upstream: ScriptedUpstream) -> None:
    """A request at one worker knows of the one at the other, and so does the main process."""
    upstream.script = gate = Gate()
    async with running(upstream.url, workers=2) as proxy:
        clients = await each(proxy)
        for client in clients:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            await client.read_until(b"data: 1\n\n")
        load = proxy.service.upstreams.first.load
        assert load.under_way == 2
        upstream.script = answer(response(ANSWER))
        await chat(proxy.url)
        await proxy.metrics()
        assert [seen.in_flight for seen in proxy.seen] == [3]
        gate.open.set()
        for client in clients:
            await client.read_until(b"0\r\n\r\n")
            await client.close()
        await until(lambda: load.under_way == 0)


async def test_process_series_are_sums(upstream: ScriptedUpstream) -> None:
    """CPU time and memory are those of all processes, and CPU time never falls."""
    async with running(upstream.url, workers=2) as proxy:
        pids = workers_of(os.getpid())
        assert len(pids) == 2
        metrics = await proxy.metrics()
        resident = sum(_resident(pid) for pid in (os.getpid(), *pids))
        assert (metrics.total("process_resident_memory_bytes") or 0) > 0.8 * resident
        before = metrics.total("process_cpu_seconds_total") or 0
        for pid in pids:
            os.kill(pid, 9)
            metrics = await proxy.metrics()
            after = metrics.total("process_cpu_seconds_total") or 0
            assert after >= before > 0
            before = after


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def test_models_and_pages_of_the_admin_listener(upstream: ScriptedUpstream) -> None:
    """Whatever the page shows comes from the main process, and it is ready once a server is up."""
    upstream.models = b'{"object":"list","data":[{"id":"m"}]}'
    upstream.script = answer(response(ANSWER))
    async with running(upstream.url, workers=2) as proxy:
        await chat(proxy.url)
        assert (await ask(proxy.service.admin_url, "GET", "/readyz")).status == 200
        await proxy.metrics()
        assert [seen.model_name for seen in proxy.seen] == ["m"]
        got = await ask(proxy.service.admin_url, "GET", "/api/completions")
        assert (got.status, got.body.count(b'"m"')) == (200, 1)


async def test_every_byte_of_a_stream_cut_anywhere(upstream: ScriptedUpstream) -> None:
    """The client's bytes are the server's, framing and all."""
    body = bytes(range(256)) * 3000

    async def script(call: Call) -> None:
        await call.body()
        await call.send(head("200 OK", EVENTS, CHUNKED), *chunked([body[:7], body[7:]]))

    upstream.script = script
    async with running(upstream.url, workers=2) as proxy:
        for client in await each(proxy):
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            assert (await client.answer()).raw == b"".join(chunked([body[:7], body[7:]]))
            await client.close()
