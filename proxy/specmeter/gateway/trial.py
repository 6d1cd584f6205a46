"""Lets an upstream try to answer: until it begins well, the client gets nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from specmeter.gateway.connection import Connection, Receiver
from specmeter.gateway.failures import Reason, UpstreamError
from specmeter.gateway.http1 import Head

OK = 200


class Patience(NamedTuple):
    """How long an answer may take to begin."""

    seconds: float
    on_begun: Callable[[], None]
    """Called once it has."""


class Trial:
    """Stands before a receiver until the first piece of a body has come.

    An answer that is no success, breaks off or does not begin in time fails without the receiver
    having seen any of it, so that another upstream can still give one.

    Args:
        receiver: Who gets the answer.
        connection: It comes from.
        patience: How long it may take to begin.
    """

    def __init__(self, receiver: Receiver, connection: Connection, patience: Patience) -> None:
        self._receiver = receiver
        self._connection = connection
        self._patience = patience
        self._head: Head | None = None
        self._length = 0
        self._begun = False
        self._waiting = connection.loop.call_later(patience.seconds, self._give_up)

    def on_head(self, head: Head, length: int) -> None:
        """Keep the head back; decline an error."""
        self._head, self._length = head, length
        if head.status != OK:
            self._waiting.cancel()
            self._connection.fail(Reason.DECLINED, f"answered HTTP {head.status}.")

    def on_body(self, raw: bytes, payload: bytes) -> None:
        """Hand on, the head first."""
        self._begin()
        self._receiver.on_body(raw, payload)

    def on_pause(self) -> None:
        """Hand on that nothing more has come, if the answer has begun."""
        if self._begun:
            self._receiver.on_pause()

    def on_end(self) -> None:
        """Hand on the end."""
        self._begin()
        self._receiver.on_end()

    def on_failure(self, failure: UpstreamError) -> None:
        """Hand on the failure; without the head it is one that no client has seen."""
        self._waiting.cancel()
        self._receiver.on_failure(failure)

    def end(self) -> None:
        """Stop waiting: nobody wants the answer any more."""
        self._waiting.cancel()

    def _begin(self) -> None:
        if self._begun or self._head is None:
            return
        self._begun = True
        self._waiting.cancel()
        self._patience.on_begun()
        self._receiver.on_head(self._head, self._length)

    def _give_up(self) -> None:
        seconds = self._patience.seconds
        self._connection.fail(Reason.SILENT, f"did not begin to answer within {seconds:g} s.")
