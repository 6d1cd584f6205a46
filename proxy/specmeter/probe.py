"""Asks each upstream from time to time whether it is there and which models it serves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from specmeter.backends import recognise
from specmeter.errors import StartupError
from specmeter.upstreams import Upstream

_log = logging.getLogger("specmeter")

MAX_MODELS = 100
"""More names than this an upstream cannot bring into the metrics."""

_TIMEOUT_SECONDS = 10.0
_SPACING_SECONDS = 5.0
"""An unknown model asks again at most this often."""


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
        self._keys = {one.name: read_key(one) for one in upstreams}
        self._round: asyncio.Task[None] | None = None
        self._rounds: asyncio.Task[None] | None = None
        self._last_round = -float("inf")

    async def start(self) -> None:
        """Begin to ask; the first round is not waited for."""
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._rounds = asyncio.create_task(self._go_on(), name="specmeter-probe")

    async def stop(self) -> None:
        """Stop asking."""
        for task in (self._rounds, self._round):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def may_ask_again(self) -> bool:
        """Whether the last round is so long ago that another one may tell something new."""
        return self._loop.time() - self._last_round >= _SPACING_SECONDS

    async def ask_again(self) -> None:
        """Ask now, unless that was just done; wait for the answers."""
        if self.may_ask_again():
            await asyncio.shield(self._ask_all())

    def _ask_all(self) -> asyncio.Task[None]:
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._ask_each(), name="specmeter-probe-round")
        return self._round

    async def _ask_each(self) -> None:
        await asyncio.gather(*(self._ask(one) for one in self._upstreams))
        self._last_round = self._loop.time()

    async def _go_on(self) -> None:
        while True:
            await self._ask_all()
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
        if was_up is not True:
            _log.info("upstream %s at %s answers", upstream.name, upstream.target.base_url)
        if models:
            upstream.learn(recognise(models), None)
            if not upstream.settings.models:
                upstream.models = frozenset(_names(models))
            self._on_models(upstream)

    async def _models(self, upstream: Upstream) -> list[dict[str, Any]]:
        """Return the upstream's model objects; none if it does not list them."""
        if self._session is None:
            return []
        key = self._keys[upstream.name]
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = f"{upstream.target.base_url}/v1/models"
        async with self._session.get(
            url, headers=headers, ssl=upstream.tls or True, allow_redirects=False
        ) as response:
            body = await response.read()
        try:
            listed = orjson.loads(body)
        except orjson.JSONDecodeError:
            return []
        data = listed.get("data") if isinstance(listed, dict) else None
        return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


def _names(models: Sequence[dict[str, Any]]) -> list[str]:
    names: list[str] = []
    for model in models:
        aliases = model.get("aliases")
        for name in (model.get("id"), *(aliases if isinstance(aliases, list) else ())):
            if isinstance(name, str) and name and name not in names:
                names.append(name)
    return names[:MAX_MODELS]


def read_key(upstream: Upstream) -> str:
    """Read the key for specmeter's own requests to an upstream; empty if it has none.

    Raises:
        StartupError: The file cannot be read.
    """
    path = upstream.settings.api_key_file
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise StartupError(
            f'upstream "{upstream.name}": api_key_file {path} cannot be read: {reason}'
        ) from None
