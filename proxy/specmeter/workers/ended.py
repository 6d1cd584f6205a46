"""An exchange on its way from the worker that carried it to the process that counts it."""

from __future__ import annotations

import msgspec

from specmeter.discreet import Discreet
from specmeter.fault import Fault
from specmeter.gateway.exchange import Ending, Exchange, Replayable
from specmeter.gateway.failures import Reason
from specmeter.gateway.request import AS_CAME
from specmeter.transcript import Copied
from specmeter.unread import Unread


class Ended(Discreet, msgspec.Struct, array_like=True, frozen=True):
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
    transcript: Copied | Fault | None
    in_flight: float | None
    held_out_of: str
    asked_model: str | None
    replayable: tuple[bytes, bytes] | None
    unread: Unread | None


def packed(exchange: Exchange) -> Ended:
    """Return an exchange as it is sent; only its request's own bytes are copied."""
    values = msgspec.structs.asdict(exchange)
    if exchange.transcript is not None:
        values["transcript"] = exchange.transcript.copied()
    if (kept := exchange.replayable) is not None:
        values["replayable"] = kept.target.encode(*AS_CAME), kept.body
    return Ended(**values)


def unpacked(ended: Ended) -> Exchange:
    """Return the exchange that was sent."""
    values = msgspec.structs.asdict(ended)
    if (kept := ended.replayable) is not None:
        values["replayable"] = Replayable(kept[0].decode(*AS_CAME), kept[1])
    return Exchange(**values)
