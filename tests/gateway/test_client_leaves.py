"""A client that leaves ends its request at the server at once, whenever that is."""

from __future__ import annotations

import asyncio

import pytest

from tests.gateway.checks import works
from tests.gateway.client import CHAT, CHAT_BODY, STREAM_BODY, Client, request
from tests.gateway.proxy import Metrics, Proxy, running, until
from tests.scripted import (
    CHUNKED,
    EVENTS,
    SECONDS,
    Call,
    ScriptedUpstream,
    chunk,
    head,
    response,
)

LEAVING = ["closes", "resets"]


class Watcher:
    """Answers a part, tells that it did, and waits for the connection to end."""

    def __init__(self, *pieces: bytes, read_body: bool = True) -> None:
        self._pieces = pieces
        self._read_body = read_body
        self.reached = asyncio.Event()
        self.left = asyncio.Event()

    async def __call__(self, call: Call) -> None:
        if self._read_body:
            await call.body()
        await call.send(*self._pieces)
        self.reached.set()
        await call.gone()
        self.left.set()


async def leave(client: Client, how: str) -> None:
    if how == "resets":
        client.reset()
    else:
        await client.close()


async def watched(watcher: Watcher, client: Client, how: str) -> None:
    """Leave once the server has got so far, and see that it learns of it.

    Nothing else would end the request within that time.
    """
    async with asyncio.timeout(SECONDS):
        await watcher.reached.wait()
        await asyncio.sleep(0.02)
        await leave(client, how)
        await watcher.left.wait()


async def left(proxy: Proxy, code: int, endpoint: str = CHAT) -> Metrics:
    """See that it was counted as a client that left, and as nothing else."""
    metrics = await proxy.metrics()
    assert metrics.by("client_left_total", "endpoint") == {endpoint: 1}
    assert metrics.by("requests_total", "code") == {str(code): 1}
    assert metrics.by("upstream_failures_total", "reason") == {}
    assert metrics.by("unread_completions_total", "reason") == {}
    assert metrics.by("completions_total", "speculation") == {}
    return metrics


@pytest.mark.parametrize("how", LEAVING)
@pytest.mark.parametrize("body", [CHAT_BODY, STREAM_BODY], ids=["whole", "streamed"])
@pytest.mark.parametrize("backend", ["auto", "vllm"])
async def test_before_the_head(
    upstream: ScriptedUpstream, backend: str, body: bytes, how: str
) -> None:
    """While the prompt is read nothing has been answered: the code is 499."""
    upstream.script = watcher = Watcher()
    async with running(upstream.url, backend=backend) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=body))
            await watched(watcher, client, how)
        await left(proxy, 499)
        await works(proxy, upstream)


@pytest.mark.parametrize("how", LEAVING)
async def test_before_the_first_token(upstream: ScriptedUpstream, how: str) -> None:
    """The head is out, the first event is not."""
    upstream.script = watcher = Watcher(head("200 OK", EVENTS, CHUNKED))
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            await client.read_until(b"\r\n\r\n")
            await watched(watcher, client, how)
        await left(proxy, 200)
        await works(proxy, upstream)


@pytest.mark.parametrize("how", LEAVING)
@pytest.mark.parametrize("backend", ["auto", "vllm"])
async def test_in_the_middle_of_a_stream(
    upstream: ScriptedUpstream, backend: str, how: str
) -> None:
    """Some events are out; the generation of the rest ends."""
    event = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'
    upstream.script = watcher = Watcher(head("200 OK", EVENTS, CHUNKED), chunk(event))
    async with running(upstream.url, backend=backend) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            await client.read_until(event)
            await watched(watcher, client, how)
        await left(proxy, 200)
        await works(proxy, upstream)


@pytest.mark.parametrize("how", LEAVING)
async def test_in_the_middle_of_a_document(upstream: ScriptedUpstream, how: str) -> None:
    """A body that is not streamed may be left as well."""
    upstream.script = watcher = Watcher(response(b"x" * 100)[:-50])
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=CHAT_BODY))
            await client.read_until(b"x" * 50)
            await watched(watcher, client, how)
        await left(proxy, 200)
        await works(proxy, upstream)


@pytest.mark.parametrize("how", LEAVING)
async def test_during_the_upload(upstream: ScriptedUpstream, how: str) -> None:
    """A request that will never be whole is no longer waited for."""
    upstream.script = watcher = Watcher(read_body=False)
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=b"x" * 1000)[:-500])
            await watched(watcher, client, how)
        await left(proxy, 499)
        await works(proxy, upstream)


@pytest.mark.parametrize("how", LEAVING)
async def test_while_the_request_is_collected(upstream: ScriptedUpstream, how: str) -> None:
    """A request that has to be looked at first has not reached the server at all."""
    async with running(upstream.url, backend="vllm") as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=b"x" * 1000)[:-500])
            await asyncio.sleep(0.05)
            await leave(client, how)
            await asyncio.sleep(0.05)
        await left(proxy, 499)
        assert upstream.requests == []
        await works(proxy, upstream)


@pytest.mark.parametrize("how", LEAVING)
async def test_while_it_does_not_read(upstream: ScriptedUpstream, how: str) -> None:
    """A client whose answer waits for it is noticed too."""
    flood = response(b"x" * 20_000_000)
    upstream.script = watcher = Watcher(flood[:1_000_000])

    async def script(call: Call) -> None:
        sending = asyncio.create_task(call.send(*(flood[at : at + 100_000] for at in range(200))))
        watcher.reached.set()
        with pytest.raises(ConnectionError):
            await sending
        watcher.left.set()
        call.ended = True

    upstream.script = script
    async with running(upstream.url) as proxy:
        async with await Client.connect(proxy.url, receive_buffer=4096) as client:
            await client.send(request("GET", "/large"))
            await client.read_until(b"\r\n\r\n")
            connections = proxy.front.server.connections
            await until(lambda: any(one.writing_paused for one in connections))
            await watched(watcher, client, how)
        await left(proxy, 200, "other")
        await works(proxy, upstream)


async def test_several_of_many(upstream: ScriptedUpstream) -> None:
    """Those who stay get their answers; those who leave are counted, each once."""
    gone = [0]

    async def script(call: Call) -> None:
        body = await call.body()
        await call.send(head("200 OK", EVENTS, CHUNKED), chunk(b"data: 1\n\n"))
        if b"stays" in body:
            await asyncio.sleep(0.2)
            await call.send(chunk(b"data: 2\n\n"), chunk(b""))
        else:
            await call.gone()
            gone[0] += 1

    upstream.script = script

    async def one(stays: bool) -> None:
        body = b'{"model":"stays"}' if stays else b'{"model":"leaves"}'
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=body))
            await client.read_until(b"data: 1\n\n")
            if stays:
                await client.read_until(b"data: 2\n\n")

    async with running(upstream.url) as proxy:
        await asyncio.gather(*(one(bool(number % 2)) for number in range(30)))
        metrics = await proxy.metrics()
        assert gone[0] == 15
        assert metrics.by("client_left_total", "endpoint") == {CHAT: 15}


async def test_after_the_answer(upstream: ScriptedUpstream) -> None:
    """A client that leaves once it has its answer has not left early."""
    await_answer = response(b'{"usage":{"completion_tokens":3}}')

    async def script(call: Call) -> None:
        await call.body()
        await call.send(await_answer)

    upstream.script = script
    async with running(upstream.url) as proxy:
        for how in LEAVING:
            async with await Client.connect(proxy.url) as client:
                await client.send(request("POST", CHAT, body=CHAT_BODY))
                assert (await client.answer()).complete
                await leave(client, how)
        metrics = await proxy.metrics()
    assert metrics.by("client_left_total", "endpoint") == {}
    assert metrics.total("generated_tokens_total") == 6
    assert upstream.connections == 1
