"""Carries one request to one upstream and the answer back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from aiohttp import web

from specmeter.backends.injection import Undo
from specmeter.gateway.connection import Connection
from specmeter.gateway.exchange import Exchange
from specmeter.gateway.failures import Reason, UpstreamError
from specmeter.gateway.protocol import DataProtocol
from specmeter.gateway.relay import Limits, Relay
from specmeter.gateway.request import request_head
from specmeter.gateway.trial import Patience, Trial
from specmeter.gateway.upload import Upload
from specmeter.upstream.upstreams import Upstream

_KEY_HEADERS = ("Authorization", "X-Api-Key")
_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))


@dataclass(slots=True)
class Call:
    """One request, and what has become of it."""

    request: web.BaseRequest
    protocol: DataProtocol
    upload: Upload
    exchange: Exchange
    keep_alive: bool
    """Whether the client's connection may stay open."""
    undo: Undo | None = None
    """What has to be taken out of the answer again."""


async def forward(
    call: Call, upstream: Upstream, limits: Limits, *, patience: Patience | None = None
) -> Relay:
    """Send the request and hand the answer on; return once it has ended.

    Args:
        call: The request.
        upstream: Where it goes.
        limits: How much of the answer is copied.
        patience: If given, an answer that is no success or does not begin in time is a failure
            too, and nothing of it goes to the client.

    Raises:
        UpstreamError: There is no answer; the client has got nothing yet.
    """
    request = call.request
    fields = request.raw_headers
    if upstream.lent_key and not any(name in request.headers for name in _KEY_HEADERS):
        fields = (*fields, (b"Authorization", b"Bearer " + upstream.lent_key.encode()))
    head = request_head(
        request.method,
        request.raw_path,
        fields,
        upstream.target,
        request_id=call.exchange.request_id,
        body_length=call.upload.length,
        chunked=call.upload.chunked,
        identity=call.exchange.completion,
    )
    repeatable = request.method in _SAFE_METHODS and not request.body_exists
    load, loop = upstream.load, upstream.loop
    mark = load.enter(loop.time()) if call.exchange.completion else None
    connection = upstream.pool.reuse()
    try:
        if connection is not None:
            try:
                return await _carry(call, upstream, connection, head, limits, patience=patience)
            except UpstreamError as error:
                # It was closing just then. Only what may be repeated is: a POST never.
                if not repeatable or error.reason is not Reason.CLOSED_EARLY:
                    raise
        connection = await upstream.pool.open()
        return await _carry(call, upstream, connection, head, limits, patience=patience)
    except UpstreamError as error:
        where = f'upstream "{upstream.name}" at {upstream.target.base_url}'
        raise UpstreamError(error.reason, f"{where} {error}") from None
    finally:
        if mark is not None:
            call.exchange.in_flight = load.leave(mark, loop.time())


async def _carry(
    call: Call,
    upstream: Upstream,
    connection: Connection,
    head: bytes,
    limits: Limits,
    *,
    patience: Patience | None,
) -> Relay:
    relay = Relay(
        call.protocol,
        connection,
        call.exchange,
        limits,
        http_1_0=call.request.version < (1, 1),
        keep_alive=call.keep_alive,
        undo=call.undo,
    )
    idle_seconds = upstream.settings.idle_seconds
    watch = _watch_silence(connection, idle_seconds) if idle_seconds else None
    trial = None if patience is None else Trial(relay, connection, patience)
    call.protocol.relay = relay
    try:
        first = head + call.upload.first_piece()
        connection.send(first, trial or relay, to_head_request=call.request.method == "HEAD")
        call.exchange.sent_at = connection.last_active
        if call.upload.complete:
            connection.end_request()
        else:
            await _send_rest(call.upload, connection, relay)
        await relay.finished
        upstream.pool.hand_back(connection)
    except BaseException:
        connection.close()
        raise
    finally:
        call.protocol.relay = None
        if relay.finished.done() and not relay.finished.cancelled():
            relay.finished.exception()  # seen, also where another error came first
        if watch is not None:
            watch.cancel()
        if trial is not None:
            trial.end()
    return relay


async def _send_rest(upload: Upload, connection: Connection, relay: Relay) -> None:
    """Send the rest of a body, unless the answer ends first."""
    sending = asyncio.ensure_future(upload.send_rest(connection))
    try:
        await asyncio.wait((sending, relay.finished), return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()
        else:
            relay.keep_alive = False
    finally:
        sending.cancel()


def _watch_silence(connection: Connection, idle_seconds: float) -> asyncio.Task[None]:
    async def watch() -> None:
        while True:
            silent = connection.loop.time() - connection.last_active
            if connection.waits_for_client:
                silent = 0.0
            if silent >= idle_seconds:
                connection.fail(
                    Reason.SILENT,
                    f"was silent for {idle_seconds:g} s. Raise idle_seconds if it may take longer.",
                )
                return
            await asyncio.sleep(idle_seconds - silent)

    return asyncio.create_task(watch(), name="specmeter-silence")
