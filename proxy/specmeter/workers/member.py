"""One worker as the main process has it: its process, and the channel to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from specmeter.workers import messages
from specmeter.workers.channel import Channel
from specmeter.workers.messages import FromWorker, Message


@dataclass(frozen=True, slots=True)
class WorkerPatience:
    """How long a worker is waited for, in seconds."""

    ready: float = 60.0
    """From its start until it takes connections."""
    answer: float = 30.0
    """For the answer to a question; one that takes longer hangs."""
    ask_every: float = 5.0


class Member:
    """A worker that runs.

    Args:
        number: Its own, from 1.
        on_message: Gets what it tells, beside what is of no concern to others.
        patience: How long it is waited for.
    """

    def __init__(
        self,
        number: int,
        on_message: Callable[[Member, FromWorker], None],
        patience: WorkerPatience,
    ) -> None:
        self.number = number
        self._patience = patience
        self._on_message = on_message
        self._channel = Channel(msgspec.msgpack.Decoder(FromWorker).decode, self._take)
        self._process: Process | None = None
        self._pings = 0
        self._answered = 0
        self._heard = asyncio.Event()
        """Set at each sign of life that somebody may wait for."""
        self.is_ready = False
        """Whether it takes connections."""

    async def start(self, hello: messages.Hello, descriptors: Sequence[int]) -> None:
        """Start the process.

        Args:
            hello: The first message to it.
            descriptors: What it inherits.

        Raises:
            OSError: There is no process to be had.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                ours.setblocking(False)
                # Neither settings nor keys go through its arguments, which everybody can see. It
                # imports from where this process does, not from wherever it is started, and is of
                # a session of its own, because Ctrl-C is for the main process only.
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", *(f"-W{one}" for one in sys.warnoptions)),
                    *("-m", "specmeter.workers"),
                    stdin=theirs.fileno(),
                    pass_fds=descriptors,
                    start_new_session=True,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                )
                await self._channel.connect(ours)
            except BaseException:
                ours.close()
                self.kill()
                raise
        self._channel.send(hello)

    @property
    def takes_clients(self) -> bool:
        """Whether it takes connections, as far as is known."""
        return self.is_ready and self.pid is not None

    @property
    def pid(self) -> int | None:
        """Its process; `None` once that has ended."""
        process = self._process
        return None if process is None or process.returncode is not None else process.pid

    def tell(self, message: Message) -> None:
        """Send a message."""
        self._channel.send(message)

    async def ready(self) -> bool:
        """Wait until it takes connections; return whether it does, or has ended before.

        Raises:
            TimeoutError: It does neither.
        """
        async with asyncio.timeout(self._patience.ready):
            while not self.is_ready and not self._channel.lost.is_set():
                await self._next_sign()
        return self.is_ready

    async def hung(self) -> str:
        """Wait until it gives no sign of life, for as long as it runs; return how that was seen."""
        patience = self._patience
        try:
            await self.ready()
        except TimeoutError:
            return f"took no connections for {patience.ready:g} s after its start"
        while True:
            await asyncio.sleep(patience.ask_every)
            try:
                async with asyncio.timeout(patience.answer):
                    await self.catch_up()
            except TimeoutError:
                return f"gave no answer for {patience.answer:g} s"

    async def catch_up(self) -> None:
        """Wait until all that has ended there by now has been taken here."""
        self._pings += 1
        number = self._pings
        self.tell(messages.Ping(number))
        while self._answered < number and not self._channel.lost.is_set():
            await self._next_sign()

    async def ended(self) -> int:
        """Wait for its end, and until all that it sent has been taken; return its status."""
        process = self._process
        assert process is not None  # noqa: S101 - it was started
        status = await process.wait()
        await self._channel.lost.wait()
        return status

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _next_sign(self) -> None:
        heard = asyncio.ensure_future(self._heard.wait())
        gone = asyncio.ensure_future(self._channel.lost.wait())
        try:
            await asyncio.wait((heard, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            heard.cancel()
            gone.cancel()
        self._heard.clear()

    def _take(self, message: FromWorker) -> None:
        match message:
            case messages.Ready():
                self.is_ready = True
                self._heard.set()
            case messages.Pong():
                self._answered = message.number
                self._heard.set()
            case _:
                self._on_message(self, message)
