"""Before a live request is held out, the plain upstream has to have answered a copy of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import aiohttp

from specmeter.asking import AskError, Server, ask
from specmeter.gateway.exchange import Replayable
from specmeter.gateway.holdout import Holdout
from specmeter.shadow.request import can_be_replayed, replay_of
from specmeter.upstream.upstreams import Upstreams


def holdouts_of(upstreams: Upstreams, on_result: Callable[[str, str], None]) -> dict[str, Holdout]:
    """Return the draws of the configuration, by the name of the upstream that speculates.

    Args:
        upstreams: All of them.
        on_result: Gets that name and what became of each held-out request.
    """
    return {
        one.name: Holdout(
            one,
            upstreams.named(one.settings.plain),
            partial(on_result, one.name),
            one.loop.time,
        )
        for one in upstreams.all
        if one.settings.holdout
    }


class Proofs:
    """The copies that are on their way."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def prove(self, holdout: Holdout, endpoint: str, replayable: Replayable) -> None:
        """Have a copy of a request to this endpoint answered by a plain upstream."""
        if not can_be_replayed(endpoint):
            return
        replay = replay_of(endpoint, replayable.body, 1, holdout.model)
        if replay is None:
            return
        holdout.proving()
        proof = asyncio.create_task(
            _proven(holdout, replayable.target, replay.body), name="specmeter-proof"
        )
        self._tasks.add(proof)
        proof.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Give up what is under way."""
        for proof in self._tasks:
            proof.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _proven(holdout: Holdout, target: str, body: bytes) -> None:
    """Ask the plain upstream for one token, and tell whether it came in time."""
    plain = holdout.plain
    server = Server(plain.target.base_url, plain.key, plain.tls, plain.configured)
    error = ""
    try:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
            await ask(session, server, target, body, timeout_seconds=holdout.patience_seconds)
    except AskError as failure:
        error = f'upstream "{plain.name}": {failure}'
    finally:
        holdout.proved(error)
