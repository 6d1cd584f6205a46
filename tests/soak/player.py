"""A client that plays orders, tells what it saw, and enters what has to be counted for it."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from tests.gateway.client import Client
from tests.soak.answers import Asked, payload
from tests.soak.inbox import Inbox
from tests.soak.judge import OK, Seen, judge
from tests.soak.ledger import Ledger
from tests.soak.mix import Batch
from tests.soak.order import CHECKSUM_HEADER, PID_HEADER, Order, Server, encode, request_of
from tests.soak.servers import UpstreamProcess

PATIENCE = 60.0  # seconds that an order may take; none should take more than a few
_KEPT = 0.8  # share of connections that are used again where they may be
_SMALL_BUFFER = 8192
_MOST_PROBLEMS = 50


@dataclass
class Tally:
    """What all clients together saw."""

    ledger: Ledger = field(default_factory=Ledger)
    kinds: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    events: int = 0
    body_bytes: int = 0
    problems: list[str] = field(default_factory=list)
    """What must not have been seen, with the order that tells how to see it again."""

    def enter(self, kind: str, order: Order, seen: Seen) -> None:
        """Judge what was seen of an order."""
        self.kinds[kind] += 1
        self.outcomes[_outcome(seen)] += 1
        self.body_bytes += len(seen.body)
        if order.is_stream_of_events:
            self.events += seen.body.count(b"\n\n")
        for problem in judge(order, seen, self.ledger):
            self.trouble(kind, order, problem)

    def trouble(self, kind: str, order: Order, problem: str) -> None:
        """Note what must not have been."""
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(f"{kind}: {problem}; order {encode(order).decode()}")


class Player:
    """One client; keeps a connection from order to order where it may.

    Args:
        url: Of the proxy.
        servers: The upstreams.
        tally: Shared by all clients.
        dice: Decides on what no order does.
    """

    def __init__(
        self,
        url: str,
        servers: Mapping[Server, UpstreamProcess],
        tally: Tally,
        dice: random.Random,
    ) -> None:
        self._url = url
        self._servers = servers
        self._tally = tally
        self._dice = dice
        self._client: Client | None = None

    async def play(self, batch: Batch) -> None:
        """Send the orders of a batch and see what comes of them."""
        server = self._servers[batch.orders[0].server]
        async with AsyncExitStack() as stack:
            if any(order.needs_steady_server for order in batch.orders):
                await stack.enter_async_context(server.steady())
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._play(batch)
            except TimeoutError:
                await self._give_up(batch, f"not over in {PATIENCE:g} s")
            except (ValueError, LookupError, AssertionError, asyncio.LimitOverrunError) as error:
                await self._give_up(batch, f"no HTTP came: {error!r}")

    async def _give_up(self, batch: Batch, problem: str) -> None:
        """Note what went wrong; what is counted for it is not known."""
        self._tally.trouble(batch.kind, batch.orders[0], problem)
        await self.leave("reset")

    async def leave(self, how: str) -> None:
        """End the connection, if there is one."""
        client, self._client = self._client, None
        if client is None:
            return
        with contextlib.suppress(OSError):  # the proxy may have closed it already
            if how == "reset" and client._writer.get_extra_info("socket") is not None:
                client.reset()
            await client.close()

    async def _play(self, batch: Batch) -> None:
        before = {name: one.changes for name, one in self._servers.items()}
        order = batch.orders[0]
        client = await self._connected(order)
        if order.leaves:
            found = [await self._leave(order, client)]
        else:
            found = await self._read_all(batch, client)
        for one, seen in zip(batch.orders, found, strict=False):
            server = self._servers[one.server]
            seen.disturbed = server.pid is None or server.changes != before[one.server]
            self._tally.enter(batch.kind, one, seen)

    async def _connected(self, order: Order) -> Client:
        if order.slow:
            await self.leave("close")
        if self._client is None:
            buffer = _SMALL_BUFFER if order.slow else 0
            self._client = await Client.connect(self._url, receive_buffer=buffer)
        return self._client

    async def _read_all(self, batch: Batch, client: Client) -> list[Seen]:
        """Send all requests, read one answer after the other until the connection ends."""
        asked = [b"".join(request_of(order)) for order in batch.orders]
        with contextlib.suppress(ConnectionError):  # an answer may have come all the same
            await client.send(b"".join(asked))
        found = []
        stays = True
        for order in batch.orders:
            inbox = Inbox(client._reader, slow=order.slow)
            await inbox.read()
            found.append(_seen(inbox))
            stays = inbox.stays_open and not order.slow
            if not stays:
                break  # what was asked for behind it will not be answered, nor counted
        if not stays or self._dice.random() > _KEPT:
            await self.leave(self._dice.choice(("close", "reset")))
        return found

    async def _leave(self, order: Order, client: Client) -> Seen:
        """Leave where the order says, unless the upstream is killed before."""
        head, body = request_of(order)
        inbox = Inbox(client._reader)
        server = self._servers[order.server]
        begun = body[: len(body) // 2] if order.upload_stops else body
        if order.kept_waiting:
            await client.send(head)
            await inbox.read_interim()  # the proxy is waiting for the body
            await client.send(begun)
            if not inbox.interim:
                self._tally.trouble("upload", order, "no 100 Continue came")
            await self.leave(order.leaves)
            return Seen(left=True)
        await client.send(head + begun)
        process = await self._reached(order, inbox, server)
        if process is not None:
            async with server.steady():
                if process == server.pid:
                    await self.leave(order.leaves)
                    await server.gone(order.number)
                    return Seen(left=True, status=inbox.status, body=bytes(inbox.body))
        await inbox.read()
        await self.leave("close")
        return _seen(inbox)

    async def _reached(self, order: Order, inbox: Inbox, server: UpstreamProcess) -> int | None:
        """Wait until it is time to leave; return the process that hangs, `None` if none does."""
        if order.stop in ("at_once", "read"):
            return await _arrived(order, inbox, server)
        await inbox.read_head()
        expected = payload(order, Asked(order.asks_usage))[: order.stop_after]
        if inbox.status == OK:
            await inbox.read(at_least=sum(map(len, expected)))
        if inbox.ended or inbox.status != OK:
            return None
        return int(inbox.all(PID_HEADER)[0])


async def _arrived(order: Order, inbox: Inbox, server: UpstreamProcess) -> int | None:
    """Wait until an upstream has the request, or an answer has come: an error, if it was killed."""
    answer = asyncio.ensure_future(inbox.read_head())
    try:
        while not answer.done():
            question = asyncio.ensure_future(server.arrived(order.number))
            await asyncio.wait((answer, question), return_when=asyncio.FIRST_COMPLETED)
            if question.done() and question.exception() is None:
                return question.result()
            question.cancel()
            await asyncio.gather(question, return_exceptions=True)
            await asyncio.sleep(0.02)
        return None
    finally:
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)


def _seen(inbox: Inbox) -> Seen:
    errors, sums = inbox.all(b"x-specmeter-error"), inbox.all(CHECKSUM_HEADER)
    return Seen(
        status=inbox.status,
        error=errors[0].decode() if errors else "",
        body=bytes(inbox.body),
        complete=inbox.complete,
        was_reset=inbox.was_reset,
        checksum=sums[0].decode() if sums else "",
    )


def _outcome(seen: Seen) -> str:
    if seen.left:
        return "client left"
    if seen.error:
        return f"{seen.status} {seen.error}"
    return f"answer {seen.status}" if seen.complete else "broken off"
