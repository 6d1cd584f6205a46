"""The proxy, in the test's own process, in front of one real server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from specmeter.config import Settings, Upstream
from specmeter.gateway.front import Front
from specmeter.meter.completion import Completion
from specmeter.service import Service
from tests.real.page import Counts, Page, server_counts

WAIT_SECONDS = 10.0


@dataclass(frozen=True)
class Proxy:
    """A running proxy, and the completions it has metered so far."""

    url: str
    admin_url: str
    client: aiohttp.ClientSession
    service: Service
    metered: list[Completion]

    @property
    def completions(self) -> list[Completion]:
        """The completions whose answers have ended, all of them metered."""
        self.service._recorder.catch_up()
        return self.metered

    async def ended(self) -> list[Completion]:
        """Wait until no answer is under way, and give the completions.

        For clients that have what they want before the answer has ended.
        """
        front = self.service._front
        assert isinstance(front, Front)

        async def is_at_rest() -> bool:
            return not front.gateway.under_way

        await until(is_at_rest)
        return self.completions

    async def page(self) -> Page:
        """Read the proxy's own metrics."""
        return Page(await self._text(f"{self.admin_url}/metrics"))

    async def server_page(self) -> Page:
        """Read the server's metrics, through the proxy."""
        return Page(await self._text(f"{self.url}/metrics"))

    async def server_counts(self) -> Counts:
        """Read what the server counted, through the proxy."""
        return server_counts(await self.server_page())

    async def _text(self, url: str) -> str:
        async with self.client.get(url) as response:
            assert response.status == 200
            return await response.text()

    async def post(self, path: str, **body: object) -> bytes:
        """Send a completion request, and give the whole body of its answer."""
        async with self.client.post(self.url + path, json=body) as response:
            answer = await response.read()
            assert response.status == 200, answer
            return answer

    async def is_ready(self) -> bool:
        """Whether the server has answered the proxy."""
        async with self.client.get(f"{self.admin_url}/readyz") as response:
            return response.status == 200

    async def has_counted(self) -> bool:
        """Whether any completion was metered."""
        return bool(self.completions)


@asynccontextmanager
async def running_proxy(
    url: str, *, models: tuple[str, ...] = (), ready: bool = True, **of_upstream: Any
) -> AsyncIterator[Proxy]:
    """Run the proxy for the length of the block.

    Args:
        url: The server's.
        models: As the configuration lists them; none leaves that to the server.
        ready: Whether to wait until the server has answered.
        of_upstream: Further settings of the upstream.
    """
    completions: list[Completion] = []
    settings = Settings(
        upstream=(Upstream(url=url, models=models, **of_upstream),),
        listen="127.0.0.1:0",
        admin="127.0.0.1:0",
    )
    service = Service(settings, observers=[completions.append])
    await service.start()
    try:
        async with aiohttp.ClientSession() as client:
            proxy = Proxy(service.data_url, service.admin_url, client, service, completions)
            if ready:
                await until(proxy.is_ready)
            yield proxy
    finally:
        await service.stop()


async def until(is_so: Callable[[], Awaitable[bool]], seconds: float = WAIT_SECONDS) -> None:
    """Wait until something is so.

    Raises:
        TimeoutError: It was not, for so long.
    """
    async with asyncio.timeout(seconds):
        while not await is_so():  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.02)


async def is_generating(client: aiohttp.ClientSession, server_url: str) -> bool:
    """Ask the server itself whether it is at work on any request."""
    async with client.get(f"{server_url}/slots") as response:
        return any(slot["is_processing"] for slot in await response.json())
