"""Asks each upstream from time to time whether it is there and which models it serves."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

import aiohttp
import orjson

from specmeter.backends import recognise
from specmeter.backends.llama_cpp import LlamaCpp, slots_speculate
from specmeter.upstream.upstreams import Upstream

_log = logging.getLogger("specmeter")

MAX_MODELS = 100
"""More names than this an upstream cannot bring into the metrics."""

_TIMEOUT_SECONDS = 10.0
_SPACING_SECONDS = 5.0
"""An unknown model asks an upstream that is up at most this often."""

_PATIENCE_SECONDS = 2.0
"""How long whoever wants to know a model waits for the answers."""


class Probe:
    """Keeps `up`, `models` and `backend` of every upstream current.

    It asks `/v1/models`, which loads no model on any known server. With `probe_seconds` between
    two rounds, and at once for a model that is not known yet.

    Args:
        loop: The loop it runs in.
        upstreams: Whom to ask.
        probe_seconds: The pause between two rounds.
        on_models: Gets an upstream whose models have been listed.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        upstreams: Sequence[Upstream],
        probe_seconds: float,
        on_models: Callable[[Upstream], None],
    ) -> None:
        self._loop = loop
        self._upstreams = upstreams
        self._on_models = on_models
        self._probe_seconds = probe_seconds
        self._session: aiohttp.ClientSession | None = None
        self._asking: dict[str, asyncio.Task[None]] = {}
        """One question to each upstream at a time."""
        self._answered_at: dict[str, float] = {}
        self._rounds: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to ask; the first round is not waited for."""
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._rounds = asyncio.create_task(self._go_on(), name="specmeter-probe")

    async def stop(self) -> None:
        """Stop asking."""
        tasks = [*self._asking.values(), *([self._rounds] if self._rounds else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def may_tell_more(self, upstream: Upstream) -> bool:
        """Whether asking again may tell something new: it was not up, or that is a while ago."""
        answered_at = self._answered_at.get(upstream.name, -float("inf"))
        return upstream.up is not True or self._loop.time() - answered_at >= _SPACING_SECONDS

    async def ask_again(self, upstreams: Sequence[Upstream]) -> None:
        """Ask those that may tell something new, and wait a little for their answers."""
        asked = [self._question(one) for one in upstreams if self.may_tell_more(one)]
        if asked:
            await asyncio.wait(asked, timeout=_PATIENCE_SECONDS)

    def _question(self, upstream: Upstream) -> asyncio.Task[None]:
        under_way = self._asking.get(upstream.name)
        if under_way is None or under_way.done():
            under_way = asyncio.create_task(self._ask(upstream), name="specmeter-probe-one")
            self._asking[upstream.name] = under_way
        return under_way

    async def _go_on(self) -> None:
        while True:
            await asyncio.wait([self._question(one) for one in self._upstreams])
            await asyncio.sleep(self._probe_seconds)

    async def _ask(self, upstream: Upstream) -> None:
        was_up = upstream.up
        try:
            models = await self._models(upstream)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            upstream.up = False
            if was_up is not False:
                where = upstream.target.base_url
                _log.warning(
                    "upstream %s at %s does not answer: %s", upstream.name, where, _reason(error)
                )
            return
        upstream.up = True
        self._answered_at[upstream.name] = self._loop.time()
        if was_up is not True:
            upstream.usage_unasked = None  # it may have been started in another way
            _log.info("upstream %s at %s answers", upstream.name, upstream.target.base_url)
        if models:
            upstream.learn(recognise(models), None)
            upstream.list_models(_names(models))
            self._on_models(upstream)
        if upstream.kind == LlamaCpp.name:
            await self._ask_slots(upstream)

    async def _ask_slots(self, upstream: Upstream) -> None:
        """Ask llama.cpp whether it speculates; where `/slots` is off, that is not known."""
        try:
            page = await self.fetch(upstream, "/slots")
        except (aiohttp.ClientError, OSError, TimeoutError):
            return
        configured = slots_speculate(page)
        if configured is not None:
            upstream.tell_configured(configured)

    async def _models(self, upstream: Upstream) -> list[dict[str, Any]]:
        """Return the upstream's model objects; none if it does not list them."""
        try:
            listed = orjson.loads(await self.fetch(upstream, "/v1/models"))
        except orjson.JSONDecodeError:
            return []
        data = listed.get("data") if isinstance(listed, dict) else None
        return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []

    async def fetch(self, upstream: Upstream, path: str) -> bytes:
        """Return a page of an upstream, whatever its status.

        Raises:
            aiohttp.ClientError, OSError, TimeoutError: It cannot be had.
        """
        if self._session is None:
            return b""
        headers = {"Authorization": f"Bearer {upstream.key}"} if upstream.key else {}
        url = f"{upstream.target.base_url}{path}"
        async with self._session.get(
            url, headers=headers, ssl=upstream.tls or True, allow_redirects=False
        ) as response:
            return await response.read()


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, OSError) and error.strerror:
        # The loop writes the address into the text, which stands in front of it already.
        number = error.errno or 0
        return (os.strerror(number) if number > 0 else error.strerror).lower()
    return str(error) or type(error).__name__


def _names(models: Sequence[dict[str, Any]]) -> list[str]:
    names: list[str] = []
    for model in models:
        aliases = model.get("aliases")
        for name in (model.get("id"), *(aliases if isinstance(aliases, list) else ())):
            if isinstance(name, str) and name and name not in names:
                names.append(name)
    return names[:MAX_MODELS]
