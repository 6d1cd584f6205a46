"""Carries one request to one upstream and the answer back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from specmeter.backends.injection import Undo
from specmeter.discreet import Discreet
from specmeter.gateway.connection import Connection, Receiver
from specmeter.gateway.exchange import Exchange
from specmeter.gateway.failures import Reason, UpstreamError
from specmeter.gateway.incoming import HTTP_1_0, Request
from specmeter.gateway.protocol import DataProtocol
from specmeter.gateway.relay import Limits, Relay
from specmeter.gateway.request import request_end, request_start
from specmeter.gateway.trial import Patience, Trial
from specmeter.gateway.upload import Upload
from specmeter.upstream.load import Mark
from specmeter.upstream.upstreams import Upstream

_KEY_HEADERS = frozenset((b"authorization", b"x-api-key"))
_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))


class Call(Discreet, msgspec.Struct):
    """One request, and what has become of it."""

    request: Request
    client: DataProtocol
    upload: Upload
    exchange: Exchange
    keep_alive: bool
    """Whether the client's connection may stay open."""
    undo: Undo | None = None
    """What has to be taken out of the answer again."""
    entered: Mark | None = None
    """Since when an upstream works on it."""

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be sent twice; a POST never."""
        return self.request.method in _SAFE_METHODS and not self.upload.is_announced


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
        BrokenUploadError: The request's body broke off; the client may have got a part.
    """
    head = _head(call, upstream)
    enter(call, upstream)
    connection = upstream.pool.reuse()
    try:
        if connection is not None:
            try:
                return await _carry(call, upstream, connection, head, limits, patience=patience)
            except UpstreamError as error:
                # It was closing just then. Only what may be repeated is.
                if not call.is_repeatable or error.reason is not Reason.CLOSED_EARLY:
                    raise
        connection = await upstream.pool.open()
        return await _carry(call, upstream, connection, head, limits, patience=patience)
    except UpstreamError as error:
        raise _located(error, upstream) from None
    finally:
        leave(call, upstream)


def forward_at_once(
    call: Call,
    upstream: Upstream,
    connection: Connection,
    limits: Limits,
    on_end: Callable[[Call, Upstream, Relay | None, UpstreamError | None], None],
) -> None:
    """Send a request whose body is here on an open connection; hand the answer on as it comes.

    The same as `forward`, without a task that waits: `on_end` is called once the answer has ended,
    with the failure if there was none, and without a relay if the client has left.
    """

    def end(relay: Relay, failure: UpstreamError | None) -> None:
        call.client.relay = None
        leave(call, upstream)
        if failure is None:
            upstream.pool.hand_back(connection)
        else:
            connection.close()
            failure = _located(failure, upstream)
        on_end(call, upstream, relay, failure)

    def client_left() -> None:
        leave(call, upstream)
        connection.close()
        on_end(call, upstream, None, None)

    head = _head(call, upstream)
    enter(call, upstream)
    call.client.on_left = client_left
    try:
        relay = _relay(call, connection, limits, end)
        _send(call, upstream, connection, head, relay)
    except BaseException:
        call.client.relay = None
        leave(call, upstream)
        connection.close()
        raise


async def _carry(
    call: Call,
    upstream: Upstream,
    connection: Connection,
    head: bytes,
    limits: Limits,
    *,
    patience: Patience | None,
) -> Relay:
    finished: asyncio.Future[None] = connection.loop.create_future()

    def end(_: Relay, failure: UpstreamError | None) -> None:
        if finished.done():
            return
        if failure is None:
            finished.set_result(None)
        else:
            finished.set_exception(failure)

    relay = _relay(call, connection, limits, end)
    trial = None if patience is None else Trial(relay, connection, patience)
    try:
        _send(call, upstream, connection, head, trial or relay)
        if not connection.request_sent:
            await _send_rest(call.upload, connection, relay, finished)
        await finished
        upstream.pool.hand_back(connection)
    except BaseException:
        connection.close()
        raise
    finally:
        call.client.relay = None
        if finished.done() and not finished.cancelled():
            finished.exception()  # seen, also where another error came first
        if trial is not None:
            trial.end()
    return relay


def _relay(
    call: Call,
    connection: Connection,
    limits: Limits,
    end: Callable[[Relay, UpstreamError | None], None],
) -> Relay:
    """Make what hands the answer on."""
    call.client.relay = relay = Relay(
        call.client,
        connection,
        call.exchange,
        limits,
        call.request.version == HTTP_1_0,
        call.keep_alive,
        call.undo,
        end,
    )
    return relay


def _send(
    call: Call, upstream: Upstream, connection: Connection, head: bytes, receiver: Receiver
) -> None:
    """Send what is there of the request; from now on the answer may come."""
    upload = call.upload
    connection.send(
        head + upload.first_piece(),
        receiver,
        to_head_request=call.request.method == "HEAD",
        is_whole=upload.complete,
        idle_seconds=upstream.settings.idle_seconds,
    )
    call.exchange.sent_at = connection.last_active


async def _send_rest(
    upload: Upload, connection: Connection, relay: Relay, finished: asyncio.Future[None]
) -> None:
    """Send the rest of a body, unless the answer ends first."""
    sending = asyncio.ensure_future(upload.send_rest(connection))
    try:
        await asyncio.wait((sending, finished), return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()
        else:
            relay.keep_alive = False
    finally:
        sending.cancel()


def _head(call: Call, upstream: Upstream) -> bytes:
    """Return the head that the upstream gets."""
    request, upload = call.request, call.upload
    if request.outgoing is None or request.outgoing[0] is not upstream:
        request.outgoing = (upstream, _start(request, upstream, call.exchange))
    return request.outgoing[1] + request_end(
        call.exchange.request_id, body_length=upload.length, chunked=upload.chunked
    )


def _start(request: Request, upstream: Upstream, exchange: Exchange) -> bytes:
    fields = request.fields
    brings_key = not _KEY_HEADERS.isdisjoint(request.headers)
    if upstream.keeps_keys:
        fields = [field for field in fields if field[0].lower() not in _KEY_HEADERS]
        brings_key = False
    if upstream.lent_key and not brings_key:
        fields = [*fields, (b"Authorization", b"Bearer " + upstream.lent_key.encode())]
    return request_start(
        request.method, request.target, fields, upstream.target, identity=exchange.completion
    )


def enter(call: Call, upstream: Upstream) -> None:
    """Note that the upstream works on one more completion, until `leave`."""
    if call.exchange.completion:
        call.entered = upstream.load.enter(upstream.loop.time())


def leave(call: Call, upstream: Upstream) -> None:
    """Note that it does not any more; only the first time counts."""
    mark, call.entered = call.entered, None
    if mark is not None:
        call.exchange.in_flight = upstream.load.leave(mark, upstream.loop.time())


def _located(error: UpstreamError, upstream: Upstream) -> UpstreamError:
    where = f'upstream "{upstream.name}" at {upstream.target.base_url}'
    return UpstreamError(error.reason, f"{where} {error}")
