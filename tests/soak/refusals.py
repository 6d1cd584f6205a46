"""Requests that reach no upstream: what specmeter answers itself, and how it is counted."""

from __future__ import annotations

from dataclasses import dataclass

from tests.gateway.client import CHAT, Client, request
from tests.soak.inbox import Inbox
from tests.soak.judge import NO_UPSTREAM
from tests.soak.ledger import Ledger

_WEBSOCKET = ((b"Connection", b"Upgrade"), (b"Upgrade", b"websocket"))


@dataclass(frozen=True)
class Refusal:
    """A request, and what has to come of it."""

    sent: bytes
    status: int
    endpoint: str


REFUSALS = (
    Refusal(b"GARBAGE\r\n\r\n", 400, "other"),
    Refusal(request("GET", "http://example.test/"), 400, "other"),
    Refusal(request("POST", CHAT, body=b'{"model":"nobody"}'), 404, CHAT),
    Refusal(request("GET", "/v1/models"), 200, "/v1/models"),
    Refusal(request("GET", CHAT, *_WEBSOCKET), 501, CHAT),
)


async def refused(url: str, refusal: Refusal, ledger: Ledger) -> list[str]:
    """Send one; return what must not have been seen."""
    async with await Client.connect(url) as client:
        await client.send(refusal.sent)
        inbox = Inbox(client._reader)
        await inbox.read()
    labels = {"upstream": NO_UPSTREAM, "endpoint": refusal.endpoint}
    ledger.add("requests_total", labels | {"code": str(inbox.status)})
    if inbox.complete and inbox.status == refusal.status:
        return []
    return [f"status {inbox.status} instead of {refusal.status} for {refusal.sent[:40]!r}"]
