"""A worker: carries requests, and hands each on to the main process once it has ended."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import socket
import sys
from collections.abc import Sequence
from itertools import count

import msgspec
import uvloop

from specmeter import logs
from specmeter.errors import SpecmeterError
from specmeter.gateway.comparisons import Comparisons
from specmeter.gateway.exchange import Exchange
from specmeter.gateway.front import Front
from specmeter.keys import Keys
from specmeter.proofs import Proofs, holdouts_of
from specmeter.shadow.request import can_be_replayed
from specmeter.unread import Unread
from specmeter.upstream.shared_load import SharedLoads
from specmeter.upstream.upstreams import Upstream, Upstreams
from specmeter.workers import messages
from specmeter.workers.channel import Channel
from specmeter.workers.ended import packed
from specmeter.workers.known import take_over
from specmeter.workers.messages import FromMain, Hello, Known

MOST_UNSENT_BYTES = 64 * 1024 * 1024
"""With more on its way to the main process, copies of answers are dropped, and counted as unread:
it hangs, and clients must not notice."""

_PATIENCE_SECONDS = 5.0
"""How long the main process may take to ask upstreams; it waits shorter itself."""


class ShadowDraw:
    """Draws what the main process may replay.

    Args:
        share: Of all requests, 0 to 1.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._draw = random.SystemRandom().random
        self.has_place = True
        """Whether the main process can keep another one."""

    def draws(self, endpoint: str) -> bool:
        """Decide whether a request is kept for a replay."""
        return can_be_replayed(endpoint) and self.has_place and self._draw() < self._share


class Worker:
    """What a worker does with what the main process tells it.

    Args:
        hello: What to do.
        channel: To the main process.
        loop: The loop it runs in.

    Raises:
        StartupError: A file that the settings name cannot be used.
    """

    def __init__(
        self, hello: Hello, channel: Channel[FromMain], loop: asyncio.AbstractEventLoop
    ) -> None:
        settings = hello.settings
        self._channel = channel
        self._loop = loop
        self._numbers = count()
        self._asked: dict[int, asyncio.Future[None]] = {}
        loads = SharedLoads(len(settings.upstream), settings.workers + 1, hello.memory)
        self._upstreams = Upstreams(
            [
                Upstream(one, loop, loads.of(index, hello.number), hello.files[index])
                for index, one in enumerate(settings.upstream)
            ]
        )
        loads.close()
        self._habits_told: dict[str, tuple[bool | None, bool]] = {}
        self._shadows = {
            one.name: ShadowDraw(one.shadow) for one in settings.upstream if one.shadow
        }
        self._proofs = Proofs()
        self._learn(hello.known)
        holdouts = holdouts_of(self._upstreams, self._held_out)
        self._front = Front(
            *(loop, settings, self._upstreams, self._hand_over, self._ask_again),
            keys=None if hello.keys is None else Keys(hello.keys),
            plain=Comparisons(self._proofs.prove, holdouts, self._shadows),
        )
        self._listeners = [socket.socket(fileno=one) for one in hello.listeners]
        self._drain = asyncio.Event()

    async def run(self) -> None:
        """Work until the main process says that it is enough, or is gone."""
        await self._front.listen_on(self._listeners)
        gc.collect()
        gc.freeze()  # as the main process does
        self._channel.send(messages.Ready())
        gone = asyncio.ensure_future(self._channel.lost.wait())
        gone.add_done_callback(self._give_up_asking)
        told = asyncio.ensure_future(self._drain.wait())
        await asyncio.wait((gone, told), return_when=asyncio.FIRST_COMPLETED)
        await self._front.stop()
        await self._proofs.stop()
        self._upstreams.close()
        self._channel.close()
        await gone
        told.cancel()

    def _give_up_asking(self, _: object) -> None:
        for asked in self._asked.values():
            asked.cancel()

    def take(self, message: FromMain) -> None:
        """Do what the main process says."""
        match message:
            case messages.Learned():
                self._learn(message.known)
            case messages.Answered():
                if (asked := self._asked.get(message.number)) is not None and not asked.done():
                    asked.set_result(None)
            case messages.Ping():
                # A client may have its whole answer two rounds of the loop before its request has
                # ended here: the task that waits for the answer ends, then what waits for the task.
                pong = messages.Pong(message.number)
                self._loop.call_soon(self._loop.call_soon, self._channel.send, pong)
            case messages.Drain():
                self._drain.set()

    def _learn(self, known: Sequence[Known]) -> None:
        for upstream, one in zip(self._upstreams.all, known, strict=True):
            take_over(upstream, one)
            self._habits_told[upstream.name] = (one.usage_unasked, one.compresses)
            if (shadow := self._shadows.get(upstream.name)) is not None:
                shadow.has_place = one.has_place

    def _hand_over(self, exchange: Exchange) -> None:
        channel = self._channel
        if exchange.transcript is not None and channel.unsent_bytes > MOST_UNSENT_BYTES:
            exchange.transcript = exchange.replayable = None
            exchange.unread = Unread.NOT_HANDED_OVER
        channel.send(messages.Exchanged(packed(exchange)))
        self._tell_habits()

    def _tell_habits(self) -> None:
        """Tell what an answer taught, which the gateway noted at the upstream."""
        for upstream in self._upstreams.all:
            habits = (upstream.usage_unasked, upstream.compresses)
            if habits != self._habits_told[upstream.name]:
                self._habits_told[upstream.name] = habits
                self._channel.send(messages.Seen(upstream.name, *habits))

    def _held_out(self, upstream: str, result: str) -> None:
        self._channel.send(messages.HeldOut(upstream, result))

    async def _ask_again(self, upstreams: Sequence[Upstream]) -> None:
        """Have upstreams asked; return once it is known what they say, or not to be had."""
        if self._channel.lost.is_set():
            return
        number = next(self._numbers)
        self._asked[number] = asked = self._loop.create_future()
        self._channel.send(messages.Ask(number, tuple(one.name for one in upstreams)))
        try:
            await asyncio.wait((asked,), timeout=_PATIENCE_SECONDS)
        finally:
            del self._asked[number]


async def _work(plug: socket.socket) -> None:
    come: asyncio.Queue[FromMain] = asyncio.Queue()
    channel = Channel(msgspec.msgpack.Decoder(FromMain).decode, come.put_nowait)
    await channel.connect(plug)
    hello = asyncio.ensure_future(come.get())
    gone = asyncio.ensure_future(channel.lost.wait())
    await asyncio.wait((hello, gone), return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if not hello.done():
        hello.cancel()
        return
    message = hello.result()
    assert isinstance(message, Hello)  # noqa: S101 - what the main process sends first
    logs.configure(message.settings.log_level, message.settings.log_format, sys.stderr)
    worker = Worker(message, channel, asyncio.get_running_loop())
    channel.on_message = worker.take
    while not come.empty():
        worker.take(come.get_nowait())
    await worker.run()


def work() -> None:
    """Be a worker: the socket to the main process is the standard input."""
    plug = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        uvloop.run(_work(plug))
    except SpecmeterError as error:
        sys.stderr.write(f"specmeter: error: a worker cannot start: {error}\n")
        sys.exit(error.exit_code)
