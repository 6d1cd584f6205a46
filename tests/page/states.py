"""The proxy in the states that the page has to tell apart, in front of real servers.

Used by the tests of the page and by `make screenshots`.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from specmeter.config import Settings, Upstream
from specmeter.learning import PlainCompletion
from specmeter.meter.completion import Completion
from specmeter.service import Service
from specmeter.speedup.baseline import Source
from tests.real.proxy import until

_CODE = "def area(r):\n    return r*r\n"
PLAIN = "plain"


@dataclass(frozen=True)
class Shown:
    """A running proxy."""

    admin_url: str
    service: Service
    completions: list[Completion]


@asynccontextmanager
async def proxy(*upstreams: Upstream) -> AsyncIterator[Shown]:
    """Run the proxy until the block is left; wait until every server was asked once."""
    settings = Settings(
        upstream=upstreams, listen="127.0.0.1:0", admin="127.0.0.1:0", drain_seconds=0
    )
    completions: list[Completion] = []
    service = Service(settings, observers=[completions.append])
    await service.start()
    try:

        async def asked() -> bool:
            return all(one.up is not None for one in service.upstreams.all)

        await until(asked)
        yield Shown(service.admin_url, service, completions)
    finally:
        await service.stop()


def upstream(url: str, name: str, **more: object) -> Upstream:
    """Return a llama.cpp server whose model goes by the name of the upstream."""
    return Upstream(url=url, name=name, models=(f"smollm2-{name}",), **more)  # type: ignore[arg-type]


async def ask(shown: Shown, name: str, *, times: int = 1, tokens: int = 48) -> None:
    """Ask for completions of repeated code, one after the other, every other one streamed."""
    async with aiohttp.ClientSession() as client:
        for turn in range(times):
            function = _CODE.replace("area", f"area{turn}")
            body = {
                "model": f"smollm2-{name}",
                "messages": [{"role": "user", "content": "Repeat this:\n" + function * 6}],
                "max_tokens": tokens,
                "temperature": 0,
                "stream": turn % 2 == 0,
            }
            before = len(shown.completions)
            url = f"{shown.service.data_url}/v1/chat/completions"
            async with client.post(url, json=body) as response:
                answer = await response.read()
                assert response.status == 200, answer

            async def metered(before: int = before) -> bool:
                return len(shown.completions) > before

            await until(metered)


@asynccontextmanager
async def compared(
    plain_url: str, url: str, name: str, *, times: int, tokens: int = 48
) -> AsyncIterator[Shown]:
    """Run a drafting server beside a plain one that is asked the same, as a shadow would."""
    drafting = upstream(url, name, plain=PLAIN, method=name)
    async with proxy(upstream(plain_url, PLAIN), drafting) as shown:
        service = shown.service
        plain, spec = service.upstreams.all

        def learn(done: Completion) -> None:
            if done.upstream == PLAIN:
                replay = PlainCompletion(
                    reading=done.reading,
                    in_flight=done.in_flight,
                    build=plain.build,
                    finished_at=done.finished_at,
                )
                service.learning.learn_plain(spec, f"smollm2-{name}", Source.SHADOW, replay)

        service.observers.append(learn)
        await ask(shown, PLAIN, times=6, tokens=tokens)
        await ask(shown, name, times=times, tokens=tokens)
        yield shown


@asynccontextmanager
async def nothing_there() -> AsyncIterator[Shown]:
    """Run the proxy in front of a port where nobody listens."""
    with socket.socket() as taken:  # bound, so that nobody else gets it, but not listening
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with proxy(upstream(f"http://127.0.0.1:{port}", "gone")) as shown:
            yield shown
