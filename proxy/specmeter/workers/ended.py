"""An exchange on its way from the worker that carried it to the process that counts it."""

from __future__ import annotations

import msgspec

from specmeter.fault import Fault
from specmeter.gateway.exchange import Ending, Exchange, Replayable
from specmeter.gateway.failures import Reason
from specmeter.gateway.request import AS_CAME
from specmeter.transcript import Copied
from specmeter.unread import Unread


class Ended(msgspec.Struct, array_like=True, frozen=True):
    """As `Exchange`. What may be no UTF-8, because a client wrote it, is bytes."""

    endpoint: str
    completion: bool
    received_at: float
    upstream: str
    request_id: bytes
    code: int
    ending: Ending
    failure: Reason | None
    sent_at: float | None
    waited_seconds: float
    answered_at: float | None
    forwarded_at: float | None
    ended_at: float
    answer: Copied | Fault | None
    in_flight: float | None
    held_out_of: str
    asked_model: str | None
    replayable: tuple[bytes, bytes] | None
    unread: Unread | None


def packed(exchange: Exchange) -> Ended:
    """Return an exchange as it is sent; only its request's own bytes are copied."""
    transcript, kept = exchange.transcript, exchange.replayable
    return Ended(
        endpoint=exchange.endpoint,
        completion=exchange.completion,
        received_at=exchange.received_at,
        upstream=exchange.upstream,
        request_id=exchange.request_id.encode(*AS_CAME),
        code=exchange.code,
        ending=exchange.ending,
        failure=exchange.failure,
        sent_at=exchange.sent_at,
        waited_seconds=exchange.waited_seconds,
        answered_at=exchange.answered_at,
        forwarded_at=exchange.forwarded_at,
        ended_at=exchange.ended_at,
        answer=None if transcript is None else transcript.copied(),
        in_flight=exchange.in_flight,
        held_out_of=exchange.held_out_of,
        asked_model=exchange.asked_model,
        replayable=None if kept is None else (kept.target.encode(*AS_CAME), kept.body),
        unread=exchange.unread,
    )


def unpacked(ended: Ended) -> Exchange:
    """Return the exchange that was sent."""
    kept = ended.replayable
    return Exchange(
        endpoint=ended.endpoint,
        completion=ended.completion,
        received_at=ended.received_at,
        upstream=ended.upstream,
        request_id=ended.request_id.decode(*AS_CAME),
        code=ended.code,
        ending=ended.ending,
        failure=ended.failure,
        sent_at=ended.sent_at,
        waited_seconds=ended.waited_seconds,
        answered_at=ended.answered_at,
        forwarded_at=ended.forwarded_at,
        ended_at=ended.ended_at,
        transcript=ended.answer,
        in_flight=ended.in_flight,
        held_out_of=ended.held_out_of,
        asked_model=ended.asked_model,
        replayable=None if kept is None else Replayable(kept[0].decode(*AS_CAME), kept[1]),
        unread=ended.unread,
    )
