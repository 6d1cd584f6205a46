"""The proxy in the states that the page has to tell apart, in front of real servers.

Used by the tests of the page and by `make screenshots`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from specmeter.config import Settings, Upstream
from specmeter.meter.completion import Completion
from specmeter.service import Service
from specmeter.speedup.interval import Speedup, Sums, Verdict, speedup
from tests.ports import closed_port
from tests.real.page import Page
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
async def proxy(*upstreams: Upstream, admin_keys_file: str = "") -> AsyncIterator[Shown]:
    """Run the proxy until the block is left; wait until every server was asked once."""
    settings = Settings(
        upstream=upstreams,
        listen="127.0.0.1:0",
        admin="127.0.0.1:0",
        drain_seconds=0.5,
        admin_keys_file=admin_keys_file,
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


async def ask(shown: Shown, *, times: int = 1, tokens: int = 48) -> None:
    """Ask for completions of repeated code, one after the other, every other one streamed."""
    async with aiohttp.ClientSession() as client:
        for turn in range(times):
            function = _CODE.replace("area", f"area{turn}")
            body = {
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
async def replayed(
    plain_url: str, url: str, name: str, *, least: int = 10, most: int = 24
) -> AsyncIterator[Shown]:
    """Run a drafting server whose requests are replayed on a plain one.

    Args:
        plain_url: The plain server.
        url: The drafting one.
        name: How it drafts.
        least: Requests; five go into the first baseline.
        most: Requests, if there is no interval before.
    """
    drafting = Upstream(
        url=url, name=name, method=name, plain=PLAIN, shadow=1.0, shadow_per_minute=6000
    )
    async with proxy(Upstream(url=plain_url, name=PLAIN), drafting) as shown:
        replays = Replays(shown, name)
        for turn in range(1, most + 1):
            await ask(shown)
            await replays.wait_for(turn)
            found = speedup_of(shown)
            if turn >= least and found is not None and found.interval is not None:
                break
        yield shown


@asynccontextmanager
async def against_a_number(
    plain_url: str, url: str, name: str, *, least: int = 6, most: int = 24
) -> AsyncIterator[Shown]:
    """Run a drafting server, and give the tokens per second that a plain one had just before.

    Args:
        plain_url: The plain server.
        url: The drafting one.
        name: How it drafts.
        least: Requests.
        most: Requests, if it is not clear before which one is faster.
    """
    async with proxy(Upstream(url=plain_url, name=PLAIN)) as shown:
        await ask(shown, times=6)
        readings = [one.reading for one in shown.completions]
        tokens = sum(one.decoded or 0 for one in readings)
        seconds = sum(one.decode_seconds or 0.0 for one in readings)
    drafting = Upstream(url=url, name=name, method=name, plain_tokens_per_second=tokens / seconds)
    async with proxy(drafting) as shown:
        for turn in range(1, most + 1):
            await ask(shown)
            found = speedup_of(shown)
            if turn >= least and found and found.verdict in (Verdict.FASTER, Verdict.SLOWER):
                break
        yield shown


def speedup_of(shown: Shown) -> Speedup | None:
    """Return the speedup over all completions."""
    sums = (one.estimate.sums for one in shown.completions if one.estimate)
    return speedup(sum(sums, Sums()))


class Replays:
    """Replays that are done: waiting for each lets both servers meet the same machine."""

    def __init__(self, shown: Shown, name: str) -> None:
        self._url = f"{shown.admin_url}/metrics"
        self._name = name

    async def wait_for(self, count: int) -> None:
        """Wait until there were so many.

        Raises:
            TimeoutError: There were not.
        """
        async with aiohttp.ClientSession() as client:
            async with asyncio.timeout(60):
                while await self._done(client) < count:  # noqa: ASYNC110 - nothing else tells
                    # Asking more often would take from the very time that is measured.
                    await asyncio.sleep(0.25)

    async def _done(self, client: aiohttp.ClientSession) -> float:
        async with client.get(self._url) as response:
            page = Page(await response.text())
        return page.total("specmeter_shadow_replays_total", upstream=self._name)


@asynccontextmanager
async def nothing_there() -> AsyncIterator[Shown]:
    """Run the proxy in front of a port where nobody listens."""
    with closed_port() as port:
        async with proxy(Upstream(url=f"http://127.0.0.1:{port}", name="gone")) as shown:
            yield shown
