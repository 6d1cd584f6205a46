"""What the main process and its workers tell each other."""

from __future__ import annotations

import msgspec

from specmeter.config import Settings
from specmeter.discreet import Discreet
from specmeter.upstream.files import Files
from specmeter.workers.ended import Ended


class Message(Discreet, msgspec.Struct, array_like=True, tag=True, frozen=True):
    """A message, in one direction or the other."""


class Known(msgspec.Struct, array_like=True, frozen=True):
    """What a worker has to know of an upstream beside its settings."""

    up: bool | None
    kind: str
    models: tuple[str, ...]
    usage_unasked: bool | None
    compresses: bool
    has_place: bool
    """Whether another one of its requests can be kept for a replay."""


# From the main process.


class Hello(Message, frozen=True):
    """The first one: what to do."""

    settings: Settings
    number: int
    """The worker's own, from 1."""
    memory: int
    """The descriptor of the memory for what is under way."""
    listeners: tuple[int, ...]
    """Descriptors of the sockets that clients connect to."""
    known: tuple[Known, ...]
    files: tuple[Files, ...]
    """What was read for each upstream, so that all workers have the same."""
    keys: tuple[bytes, ...] | None
    """Digests of the clients' keys; `None` if they need none."""


class Learned(Message, frozen=True):
    """Something has changed; for each upstream, in the order of the configuration."""

    known: tuple[Known, ...]


class Answered(Message, frozen=True):
    """The upstreams were asked; what they said was sent before."""

    number: int


class Ping(Message, frozen=True):
    """Everything that has ended is to be on its way before the answer to this is."""

    number: int


class Drain(Message, frozen=True):
    """Take no more, end what is under way, and go."""


# From a worker.


class Ready(Message, frozen=True):
    """It takes connections."""


class Exchanged(Message, frozen=True):
    """A request has ended."""

    ended: Ended


class HeldOut(Message, frozen=True):
    """What became of a held-out request."""

    upstream: str
    result: str


class Seen(Message, frozen=True):
    """What an answer taught of an upstream's habits."""

    upstream: str
    usage_unasked: bool | None
    compresses: bool


class Ask(Message, frozen=True):
    """Have upstreams asked for their models."""

    number: int
    upstreams: tuple[str, ...]


class Pong(Message, frozen=True):
    """The answer to `Ping`."""

    number: int


FromMain = Hello | Learned | Answered | Ping | Drain
FromWorker = Ready | Exchanged | HeldOut | Seen | Ask | Pong
