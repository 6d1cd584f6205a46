"""The data listener's handler: decides where a request goes and how it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import orjson
from aiohttp import HttpVersion10, HttpVersion11, web

from specmeter.gateway.answers import RefusedError, Relayed, own_answer
from specmeter.gateway.comparisons import MOST_REPLAYED_BYTES, Comparisons
from specmeter.gateway.endpoints import MODELS, OTHER, endpoint_of, is_completion
from specmeter.gateway.exchange import Ending, Exchange, Replayable
from specmeter.gateway.failures import UpstreamError, error_body
from specmeter.gateway.forward import Call, forward
from specmeter.gateway.inject import inject, with_members
from specmeter.gateway.protocol import DataProtocol
from specmeter.gateway.relay import Limits, Relay
from specmeter.gateway.request import RequestIds, model_in_body, model_in_query
from specmeter.gateway.trial import Patience
from specmeter.gateway.upload import Upload
from specmeter.upstream.upstreams import Upstream, Upstreams

_VERSIONS = (HttpVersion11, HttpVersion10)


class Gateway:
    """Answers the requests of the data listener.

    Args:
        loop: The loop it runs in.
        upstreams: Where requests go.
        limits: How much of an answer is copied.
        on_exchange: Gets every request once it has ended; must not raise.
        ask_models_again: Has upstreams asked for their models.
        plain: What is done for comparison with plain upstreams.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        upstreams: Upstreams,
        limits: Limits,
        on_exchange: Callable[[Exchange], None],
        ask_models_again: Callable[[Sequence[Upstream]], Awaitable[None]],
        *,
        plain: Comparisons,
    ) -> None:
        self._loop = loop
        self._upstreams = upstreams
        self._limits = limits
        self._on_exchange = on_exchange
        self._ask_models_again = ask_models_again
        self._plain = plain
        self._draining = False
        self._new_request_id = RequestIds().new
        self._relayed_and_open = Relayed(keep_alive=True)
        self._relayed_and_closed = Relayed(keep_alive=False)
        self.under_way = 0
        """Requests that are being answered."""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        loop = self._loop
        endpoint = endpoint_of(request.raw_path)
        exchange = Exchange(
            endpoint,
            completion=is_completion(request.method, endpoint),
            received_at=loop.time(),
            request_id=request.headers.get("x-request-id") or self._new_request_id(),
        )
        protocol = cast("DataProtocol", request.protocol)
        call = Call(request, protocol, Upload(request), exchange, keep_alive=request.keep_alive)
        protocol.busy = True
        self.under_way += 1
        try:
            return await self._answer(call)
        except RefusedError as refused:
            exchange.ending = Ending.COMPLETE
            return self._own(call, refused.status, refused.body, refused.code)
        except UpstreamError as error:
            exchange.ending = Ending.UPSTREAM_FAILED
            exchange.failure = error.reason
            body = error_body(error.status, str(error), f"upstream_{error.reason}")
            return self._own(call, error.status, body, error.reason)
        except web.RequestPayloadError as error:
            if exchange.answered_at is not None:
                _break_off(protocol)
                return self._relayed_and_closed
            exchange.ending = Ending.COMPLETE
            body = error_body(400, f"the request's body is broken: {error}", "bad_request")
            return self._own(call, 400, body, "bad_request", closes=True)
        except Exception:
            exchange.ending = Ending.COMPLETE
            exchange.code = 500
            if exchange.answered_at is not None:
                _break_off(protocol)
            raise
        finally:
            protocol.busy = False
            self.under_way -= 1
            exchange.ended_at = loop.time()
            self._on_exchange(exchange)

    def bad_request(self) -> None:
        """Count a request that was no HTTP."""
        now = self._loop.time()
        exchange = Exchange(OTHER, completion=False, received_at=now, ended_at=now, code=400)
        exchange.ending = Ending.COMPLETE
        self._on_exchange(exchange)

    def drain(self) -> None:
        """From now on close each connection after its answer."""
        self._draining = True

    async def _answer(self, call: Call) -> web.StreamResponse:
        _refuse_what_is_no_request(call.request)
        upstream = await self._route(call)
        if upstream is None:
            call.exchange.ending = Ending.COMPLETE
            return self._own(call, 200, await self._list_models(), None)
        call.keep_alive = call.keep_alive and not self._draining
        relay = await self._hold_out(call, upstream)
        if relay is None:
            call.exchange.upstream = upstream.name
            await self._keep_for_replay(call, upstream)
            await self._inject(call, upstream)
            call.upload.take()
            relay = await forward(call, upstream, self._limits)
        if relay.usage_unasked is not None:
            upstream.usage_unasked = relay.usage_unasked
        if call.protocol.writing_paused:
            await call.protocol.until_taken()  # else answers could pile up behind a slow client
        stays_open = relay.keep_alive and not self._draining
        return self._relayed_and_open if stays_open else self._relayed_and_closed

    async def _route(self, call: Call) -> Upstream | None:
        """Choose the upstream; `None` for the list of all their models."""
        if not self._upstreams.route_by_model:
            return self._upstreams.first
        model = model_in_query(call.request.raw_path)
        if model is None and call.exchange.endpoint == MODELS and call.request.method == "GET":
            return None
        if model is None and not call.upload.complete:
            await self._collect(call, None)
            model = model_in_body(call.upload.begun)
        upstream = self._upstreams.serving(model)
        if upstream is None:
            await self._ask_models_again(self._upstreams.routed)
            upstream = self._upstreams.serving(model)
        if upstream is None:
            known = ", ".join(self._upstreams.models()) or "none (no upstream has listed any yet)"
            raise RefusedError(
                404,
                f"no upstream serves the model {str(model)[:200]!r}. Known models: {known}",
                "model_not_found",
                "model",
            )
        return upstream

    async def _hold_out(self, call: Call, upstream: Upstream) -> Relay | None:
        """Let the plain upstream answer, if the request is drawn; `None` if it has not."""
        exchange = call.exchange
        holdout = self._plain.holdouts.get(upstream.name)
        if holdout is None or not exchange.completion:
            return None
        if not holdout.draws(call.request.headers.get(holdout.header)):
            return None
        if not await self._collect(call, self._limits.body_bytes) or not call.upload.begun:
            return None
        body, plain = call.upload.begun, holdout.plain
        if not holdout.is_proven:
            self._plain.prove(holdout, exchange.endpoint, Replayable(call.request.raw_path, body))
            return None
        exchange.upstream, exchange.held_out_of = plain.name, upstream.name
        exchange.asked_model = model_in_body(body)
        if exchange.asked_model is not None and holdout.model:
            call.upload.replace(with_members(body, {"model": holdout.model}))
        await self._inject(call, plain)
        waiting = holdout.sent()
        patience = Patience(holdout.patience_seconds, waiting.over)
        try:
            relay = await forward(call, plain, self._limits, patience=patience)
        except UpstreamError as error:
            holdout.failed(error)
            exchange.start_over()
            call.undo = None
            call.upload.replace(body)
            return None
        finally:
            waiting.over()
            if exchange.failure is not None:  # the client's connection is closed then, and so this
                holdout.broken_off()
        if exchange.failure is None:
            holdout.answered()
        return relay

    async def _keep_for_replay(self, call: Call, upstream: Upstream) -> None:
        """Keep what the client asked for, if it is drawn for a replay."""
        shadow = self._plain.shadows.get(upstream.name)
        if (
            shadow is None
            or not call.exchange.completion
            or not shadow.draws(call.exchange.endpoint)
        ):
            return
        if await self._collect(call, MOST_REPLAYED_BYTES):
            call.exchange.replayable = Replayable(call.request.raw_path, call.upload.begun)

    async def _inject(self, call: Call, upstream: Upstream) -> None:
        """Ask for numbers that the server gives only on demand."""
        injection, endpoint = upstream.injection, call.exchange.endpoint
        if injection is None or not call.exchange.completion:
            return
        if endpoint not in injection.endpoints:
            return
        if not await self._collect(call, self._limits.body_bytes):
            return
        injected = inject(call.upload.begun, injection, endpoint, upstream.habits)
        if injected is not None:
            call.upload.replace(injected.body)
            call.undo = injected.undo

    async def _collect(self, call: Call, limit: int | None) -> bool:
        before = self._loop.time()
        complete = await call.upload.collect(limit)
        call.exchange.waited_seconds += self._loop.time() - before
        return complete

    async def _list_models(self) -> bytes:
        await self._ask_models_again(self._upstreams.routed)
        models = [
            {"id": model, "object": "model", "created": 0, "owned_by": one.name}
            for one in self._upstreams.routed
            for model in sorted(one.models)
        ]
        return orjson.dumps({"object": "list", "data": models})

    def _own(
        self, call: Call, status: int, body: bytes, error: str | None, *, closes: bool = False
    ) -> web.Response:
        keep_alive = not (closes or self._draining)
        return own_answer(call.exchange, status, body, error=error, keep_alive=keep_alive)


def _break_off(protocol: DataProtocol) -> None:
    """Close without a clean end, so that nothing is written into the middle of an answer."""
    if protocol.transport is not None:
        protocol.transport.abort()


def _refuse_what_is_no_request(request: web.BaseRequest) -> None:
    path = request.raw_path
    if request.method == "CONNECT" or not (path.startswith("/") or path == "*"):
        raise RefusedError(
            400,
            "this is no forward proxy: send requests to it as to the server itself "
            "(base URL http://HOST:PORT/v1), not through HTTP_PROXY",
            "not_a_forward_proxy",
        )
    if request.version not in _VERSIONS:
        raise RefusedError(505, "send the request in HTTP/1.1 or HTTP/1.0", "http_version")
    headers = request.headers
    if headers.get("Upgrade", "").lower() == "websocket":
        raise RefusedError(501, "WebSocket connections are not forwarded", "no_websocket")
    if headers.get("Transfer-Encoding", "chunked").lower() != "chunked":
        raise RefusedError(
            501, "the only transfer coding that is forwarded is chunked", "transfer_coding"
        )
