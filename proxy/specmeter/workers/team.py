"""All workers, from the main process's side: started, told what is new, replaced, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Awaitable, Callable, Sequence

from specmeter.config import Address, Settings
from specmeter.errors import StartupError
from specmeter.gateway.exchange import Exchange
from specmeter.keys import Keys
from specmeter.upstream.shared_load import SharedLoads
from specmeter.upstream.upstreams import Upstream, Upstreams
from specmeter.workers import messages
from specmeter.workers.ended import unpacked
from specmeter.workers.known import known_of
from specmeter.workers.listeners import Listeners
from specmeter.workers.member import Member, WorkerPatience
from specmeter.workers.messages import FromWorker

_LOOK_SECONDS = 0.1
"""How often it is looked whether there is anything new to tell; what an answer told is at once."""

_CATCH_UP_SECONDS = 2.0
"""How long a scrape waits for workers that hang."""

_GRACE_SECONDS = 5.0
"""How much longer than `drain_seconds` a worker may take to end."""

_SHORT_LIFE_SECONDS = 10.0
"""A worker that ended sooner may do so again: the next one waits longer."""

_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 30.0
_CLIENTS_WAIT_SECONDS = 1.0
"""With a longer pause its connections go to other workers; else they wait for the next one."""

_log = logging.getLogger("specmeter")


class Team:
    """As `Front`, spread over several processes.

    Args:
        loop: The loop it runs in.
        settings: What it is told to do.
        upstreams: What is known of them is handed on to the workers.
        loads: Where requests under way are counted; the main process is number 0.
        keys: Of which clients have to bring one; `None` if they need not.
        on_exchange: Gets every request once it has ended; must not raise.
        ask_models_again: Has upstreams asked for their models.
        on_held_out: Gets an upstream and what became of a held-out request.
        has_place: Whether another request of an upstream can be kept for a replay.
        on_restart: Called for each worker that ended by itself.
        patience: How long workers are waited for.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        settings: Settings,
        upstreams: Upstreams,
        loads: SharedLoads,
        *,
        keys: Keys | None,
        on_exchange: Callable[[Exchange], None],
        ask_models_again: Callable[[Sequence[Upstream]], Awaitable[None]],
        on_held_out: Callable[[str, str], None],
        has_place: Callable[[str], bool],
        on_restart: Callable[[], None],
        patience: WorkerPatience | None = None,
    ) -> None:
        self._loop = loop
        self._settings = settings
        self._upstreams = {one.name: one for one in upstreams.all}
        self._loads = loads
        self._files = tuple(one.files for one in upstreams.all)
        self._keys = None if keys is None else keys.digests
        self._patience = patience or WorkerPatience()
        self._on_exchange = on_exchange
        self._ask_models_again = ask_models_again
        self._on_held_out = on_held_out
        self._has_place = has_place
        self._on_restart = on_restart
        self._listeners = Listeners()
        self._members: dict[int, Member] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._known = self._known_now()
        self._look: asyncio.TimerHandle | None = None

    async def listen(self, address: Address) -> int:
        """Find out where to listen; return the port, also where the system chose it.

        Raises:
            OSError: The port cannot be had.
        """
        port = await self._listeners.reserve(address)
        for number in self._numbers:
            self._listeners.of(number)
        return port

    async def start(self) -> None:
        """Start the workers; return once all of them take connections.

        Raises:
            StartupError: One of them does not.
        """
        self._look_for_news()
        begun = await asyncio.gather(
            *(self._begin(number) for number in self._numbers), return_exceptions=True
        )
        for error in begun:
            if isinstance(error, OSError):
                raise StartupError(f"workers: one cannot start: {_reason(error)}") from None
            if error is not None:
                raise error
        for member in self._members.values():
            try:
                is_ready = await member.ready()
            except TimeoutError:
                raise StartupError(
                    f"workers: number {member.number} took no connections for "
                    f"{self._patience.ready:g} s after its start: is the machine that busy?"
                ) from None
            if not is_ready:
                raise StartupError(
                    f"workers: number {member.number} {_ending(await member.ended())} before it "
                    "took connections. What it logged says why; workers = 1 does without it"
                )
        _log.info("%d workers take connections", len(self._members))
        for number in self._numbers:
            self._run(self._keep(number), f"specmeter-worker-{number}")

    async def catch_up(self) -> None:
        """Take all that has ended by now."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CATCH_UP_SECONDS):
                await asyncio.gather(
                    *(one.catch_up() for one in self._members.values() if one.is_ready)
                )

    async def stop(self) -> None:
        """Take no more, let what is under way end within `drain_seconds`, and end the workers."""
        self._listeners.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        members = list(self._members.values())
        for member in members:
            member.tell(messages.Drain())
        ended = [asyncio.create_task(member.ended()) for member in members]
        if ended:
            await asyncio.wait(ended, timeout=self._settings.drain_seconds + _GRACE_SECONDS)
        killed = [member for member in members if member.pid is not None]
        for member in killed:
            _log.warning("worker %d was killed: it did not end by itself", member.number)
            member.kill()
        for member, status in zip(members, await asyncio.gather(*ended), strict=True):
            if status and member not in killed:
                _log.warning("worker %d %s while stopping", member.number, _ending(status))
        if self._look is not None:
            self._look.cancel()
        self._loads.close()

    @property
    def is_ready(self) -> bool:
        """Whether any worker takes connections."""
        return any(one.takes_clients for one in self._members.values())

    def pids(self) -> list[int]:
        """Return the processes of the workers that run."""
        return [pid for one in self._members.values() if (pid := one.pid) is not None]

    @property
    def _numbers(self) -> range:
        return range(1, self._settings.workers + 1)

    def _run(self, work: Awaitable[None], name: str) -> None:
        task = asyncio.ensure_future(work)
        assert isinstance(task, asyncio.Task)  # noqa: S101
        task.set_name(name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Their lives.

    async def _begin(self, number: int) -> None:
        listeners = [one.fileno() for one in self._listeners.of(number)]
        hello = messages.Hello(
            settings=self._settings,
            number=number,
            memory=self._loads.file,
            listeners=tuple(listeners),
            known=self._known,
            files=self._files,
            keys=self._keys,
        )
        member = Member(number, self._take, self._patience)
        await member.start(hello, [self._loads.file, *listeners])
        self._members[number] = member
        if self._known != hello.known:  # others were told meanwhile
            member.tell(messages.Learned(self._known))

    async def _keep(self, number: int) -> None:
        """Replace a worker whenever it ends."""
        pause = 0.0
        while True:
            began = self._loop.time()
            try:
                if number not in self._members:
                    await self._begin(number)
                status = await self._ended(self._members[number])
                why = f"worker {number} {_ending(status)}"
                self._loads.process_ended(number, self._loop.time())
                del self._members[number]
                self._on_restart()
            except Exception as error:  # noqa: BLE001 - whatever it is, there has to be a next one
                why = f"worker {number} cannot start: {_reason(error)}"
            is_sound = self._loop.time() - began >= _SHORT_LIFE_SECONDS
            pause = min(max(2 * pause, _FIRST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)
            pause = 0.0 if is_sound else pause
            _log.error("%s; the next one starts in %g s", why, pause)
            if pause > _CLIENTS_WAIT_SECONDS:
                self._listeners.give_up(number)
            await asyncio.sleep(pause)

    async def _ended(self, member: Member) -> int:
        """Wait for a worker's end, and bring it about if it hangs; return its status."""
        ended = asyncio.ensure_future(member.ended())
        hung = asyncio.ensure_future(member.hung())
        try:
            await asyncio.wait((ended, hung), return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                _log.error("worker %d is killed: it %s", member.number, hung.result())
                member.kill()
            return await ended
        finally:
            hung.cancel()
            ended.cancel()

    # What is told.

    def _take(self, member: Member, message: FromWorker) -> None:
        match message:
            case messages.Exchanged():
                exchange = unpacked(message.ended)
                upstream = self._upstreams.get(exchange.upstream)
                before = None if upstream is None else upstream.backend
                self._on_exchange(exchange)
                if upstream is not None and upstream.backend is not before:
                    self.tell_news()
            case messages.HeldOut():
                self._on_held_out(message.upstream, message.result)
            case messages.Seen():
                seen = self._upstreams[message.upstream]
                if message.usage_unasked is not None:
                    seen.usage_unasked = message.usage_unasked
                seen.compresses = seen.compresses or message.compresses
                self.tell_news()
            case messages.Ask():
                self._run(self._ask(member, message), "specmeter-ask-again")

    async def _ask(self, member: Member, asked: messages.Ask) -> None:
        await self._ask_models_again([self._upstreams[name] for name in asked.upstreams])
        self.tell_news()
        member.tell(messages.Answered(asked.number))

    def _known_now(self) -> tuple[messages.Known, ...]:
        return tuple(
            known_of(one, has_place=self._has_place(one.name)) for one in self._upstreams.values()
        )

    def _look_for_news(self) -> None:
        self.tell_news()
        self._look = self._loop.call_later(_LOOK_SECONDS, self._look_for_news)

    def tell_news(self) -> None:
        """Tell all workers what is known of upstreams, if that has changed."""
        known = self._known_now()
        if known != self._known:
            self._known = known
            for member in self._members.values():
                member.tell(messages.Learned(known))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return f"{type(error).__name__}: {error}"


def _ending(status: int) -> str:
    """Say how a process ended."""
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"
