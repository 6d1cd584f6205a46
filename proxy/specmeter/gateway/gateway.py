"""The data listener's handler: decides where a request goes and how it is answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import orjson

from specmeter.fault import Fault
from specmeter.gateway.answers import RefusedError, own_answer
from specmeter.gateway.comparisons import MOST_REPLAYED_BYTES, Comparisons
from specmeter.gateway.endpoints import MODELS, OTHER
from specmeter.gateway.exchange import Ending, Exchange, Replayable
from specmeter.gateway.failures import UpstreamError, error_body
from specmeter.gateway.forward import Call, forward, forward_at_once
from specmeter.gateway.holdout import Holdout
from specmeter.gateway.incoming import HTTP_1_0, Request
from specmeter.gateway.inject import inject, with_members
from specmeter.gateway.protocol import DataProtocol
from specmeter.gateway.refusal import refusal_of
from specmeter.gateway.relay import Limits, Relay
from specmeter.gateway.request import (
    AS_CAME,
    RequestIds,
    asks_for_stream,
    model_in_body,
    model_in_query,
)
from specmeter.gateway.trial import Patience
from specmeter.gateway.upload import BrokenUploadError, Upload
from specmeter.keys import Keys
from specmeter.upstream.upstreams import Upstream, Upstreams

_log = logging.getLogger("specmeter")


class Gateway:
    """Answers the requests of the data listener.

    Args:
        loop: The loop it runs in.
        upstreams: Where requests go.
        limits: How much of an answer is copied.
        on_exchange: Gets every request once it has ended; must not raise.
        ask_models_again: Has upstreams asked for their models.
        plain: What is done for comparison with plain upstreams.
        keys: Of which clients have to bring one; `None` if they need not.
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
        keys: Keys | None = None,
    ) -> None:
        self._loop = loop
        self._upstreams = upstreams
        self._limits = limits
        self._on_exchange = on_exchange
        self._ask_models_again = ask_models_again
        self._plain = plain
        self._keys = keys
        self._straight_to: Upstream | None = None
        """The only upstream, if requests need not be looked at for anything."""
        if not (upstreams.route_by_model or plain.compares(upstreams.first.name)):
            self._straight_to = upstreams.first
        self._draining = False
        self._new_request_id = RequestIds().new
        self._tasks: set[asyncio.Task[bool]] = set()
        self.under_way = 0
        """Requests that are being answered."""

    def answer(self, request: Request, upload: Upload, client: DataProtocol) -> None:
        """Begin to answer a request; `client.answered` is called once that has ended."""
        exchange = Exchange(
            request.endpoint,
            completion=request.is_completion,
            received_at=self._loop.time(),
            request_id=request.headers.get(b"x-request-id") or self._new_request_id(),
        )
        call = Call(request, client, upload, exchange, request.keep_alive)
        self.under_way += 1
        # What is like a request that was forwarded is not refused either.
        refused = None
        if request.outgoing is None:
            refused = refusal_of(request, upload, self._keys)
        if refused is not None:
            self._ended(call, keep_alive=self._refuse(call, refused))
        elif not self._answer_at_once(call):
            task = self._loop.create_task(self._answer_in_time(call), name="specmeter-request")
            client.on_left = task.cancel
            self._tasks.add(task)
            task.add_done_callback(partial(self._task_ended, call))

    def count_bad_request(self, status: int) -> None:
        """Count what was no request, by the status it got."""
        now = self._loop.time()
        exchange = Exchange(OTHER, completion=False, received_at=now, ended_at=now, code=status)
        exchange.ending = Ending.COMPLETE
        self._on_exchange(exchange)

    def drain(self) -> None:
        """From now on close each connection after its answer."""
        self._draining = True

    def _answer_at_once(self, call: Call) -> bool:
        """Take the straight way, without a task, if nothing has to be waited for on it.

        It is open to a request that is whole, on a connection that is open; not to what may be
        repeated on another connection.
        """
        upstream = self._straight_to
        if upstream is None or not call.upload.complete or call.is_repeatable:
            return False
        connection = upstream.pool.reuse()
        if connection is None:
            return False
        call.exchange.upstream = upstream.name
        call.keep_alive = call.keep_alive and not self._draining
        try:
            if self._may_inject(call, upstream):
                _inject_whole(call, upstream)
            forward_at_once(call, upstream, connection, self._limits, self._answered_at_once)
        except Exception as error:  # noqa: BLE001 - whatever it is, others go on
            connection.close()
            self._ended(call, keep_alive=self._blame_ourselves(call, error))
        return True

    def _answered_at_once(
        self, call: Call, upstream: Upstream, relay: Relay | None, failure: UpstreamError | None
    ) -> None:
        if relay is None:
            self._ended(call, keep_alive=False)
        elif failure is None:
            _learn(call, upstream, relay)
            self._ended(call, keep_alive=relay.keep_alive and not self._draining)
        else:
            self._ended(call, keep_alive=self._tell(call, failure))

    async def _answer_in_time(self, call: Call) -> bool:
        """Answer a request on whose way something has to be waited for; as `_answer`."""
        try:
            return await self._answer(call)
        except RefusedError as refused:
            return self._refuse(call, refused)
        except UpstreamError as failure:
            return self._tell(call, failure)
        except BrokenUploadError as error:
            if call.exchange.answered_at is not None:
                _break_off(call.client)
                return False
            text = f"the request is malformed: {error}"
            return self._refuse(call, RefusedError(400, text, "bad_request"))
        except Exception as error:  # noqa: BLE001 - whatever it is, others go on
            return self._blame_ourselves(call, error)

    def _task_ended(self, call: Call, task: asyncio.Task[bool]) -> None:
        """End a request whose task has; one that was cancelled may not even have begun."""
        self._tasks.discard(task)
        left = task.cancelled() or task.exception() is not None
        self._ended(call, keep_alive=not left and task.result())

    async def _answer(self, call: Call) -> bool:
        """Route, inject, forward; return whether the connection stays open."""
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
            _learn(call, upstream, relay)
        return relay.keep_alive and not self._draining

    def _ended(self, call: Call, *, keep_alive: bool) -> None:
        """Count a request; its answer is out, or will never be."""
        self.under_way -= 1
        call.exchange.ended_at = self._loop.time()
        call.client.answered(keep_alive=keep_alive)
        self._on_exchange(call.exchange)

    async def _route(self, call: Call) -> Upstream | None:
        """Choose the upstream; `None` for the list of all their models."""
        if not self._upstreams.route_by_model:
            return self._upstreams.first
        model = model_in_query(call.request.target)
        if model is None and call.exchange.endpoint == MODELS and call.request.method == "GET":
            return None
        if model is None and call.upload.is_announced:
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

    async def _drawn(self, call: Call, upstream: Upstream) -> Holdout | None:
        """Decide whether the plain upstream is to answer; then the whole request is here."""
        holdout = self._plain.holdouts.get(upstream.name)
        if holdout is None or not call.exchange.completion:
            return None
        conversation = call.request.headers.get(holdout.header.lower().encode())
        if not holdout.draws(None if conversation is None else conversation.decode(*AS_CAME)):
            return None
        if not await self._collect(call, self._limits.body_bytes):
            return None
        body = call.upload.begun
        if not asks_for_stream(body):
            return None  # nothing tells a long answer in one piece from a server that hangs
        if not holdout.is_proven:
            copy = Replayable(call.request.target, body)
            self._plain.prove(holdout, call.exchange.endpoint, copy)
            return None
        return holdout

    async def _hold_out(self, call: Call, upstream: Upstream) -> Relay | None:
        """Let the plain upstream answer, if the request is drawn; `None` if it has not."""
        holdout = await self._drawn(call, upstream)
        if holdout is None:
            return None
        exchange, body, plain = call.exchange, call.upload.begun, holdout.plain
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
        _learn(call, plain, relay)
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
            call.exchange.replayable = Replayable(call.request.target, call.upload.begun)

    async def _inject(self, call: Call, upstream: Upstream) -> None:
        """Ask for numbers that the server gives only on demand."""
        if self._may_inject(call, upstream) and await self._collect(call, self._limits.body_bytes):
            _inject_whole(call, upstream)

    def _may_inject(self, call: Call, upstream: Upstream) -> bool:
        injection = upstream.injection
        exchange = call.exchange
        return (
            injection is not None
            and exchange.completion
            and exchange.endpoint in injection.endpoints
            and injection.may_ask(upstream.habits)
        )

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

    def _refuse(self, call: Call, refused: RefusedError) -> bool:
        call.exchange.ending = Ending.COMPLETE
        return self._own(call, refused.status, refused.body, refused.code)

    def _tell(self, call: Call, failure: UpstreamError) -> bool:
        """Tell the client that the upstream failed."""
        call.exchange.ending = Ending.UPSTREAM_FAILED
        call.exchange.failure = failure.reason
        body = error_body(failure.status, str(failure), f"upstream_{failure.reason}")
        return self._own(call, failure.status, body, failure.reason)

    def _blame_ourselves(self, call: Call, error: Exception) -> bool:
        _log.error("cannot answer a request: %s", Fault.of(error))
        call.exchange.ending = Ending.COMPLETE
        if call.exchange.answered_at is not None:
            call.exchange.code = 500
            _break_off(call.client)
            return False
        body = error_body(500, "a fault of its own; its log says more", "internal_error")
        return self._own(call, 500, body, "internal_error")

    def _own(self, call: Call, status: int, body: bytes, error: str | None) -> bool:
        """Answer without an upstream; return whether the connection stays open."""
        request = call.request
        keep_alive = (
            call.keep_alive
            and call.upload.complete
            and request.method != "CONNECT"
            and not self._draining
        )
        call.exchange.code = status
        call.client.write(
            own_answer(
                status,
                body,
                request_id=call.exchange.request_id,
                error=error,
                keep_alive=keep_alive,
                http_1_0=request.version == HTTP_1_0,
                to_head_request=request.method == "HEAD",
            )
        )
        return keep_alive


def _inject_whole(call: Call, upstream: Upstream) -> None:
    """Add to a request that is here as a whole."""
    injection = upstream.injection
    if injection is None:
        return
    injected = inject(call.upload.begun, injection, call.exchange.endpoint, upstream.habits)
    if injected is not None:
        call.upload.replace(injected.body)
        call.undo = injected.undo


def _learn(call: Call, upstream: Upstream, relay: Relay) -> None:
    """Learn an upstream's habits from its answer, if it was asked for something."""
    if call.undo is None:
        return
    if relay.usage_unasked is not None:
        upstream.usage_unasked = relay.usage_unasked
    if relay.keeps_additions:
        upstream.ask_no_more()


def _break_off(client: DataProtocol) -> None:
    """Close without a clean end, so that nothing is written into the middle of an answer."""
    if client.transport is not None:
        client.transport.abort()
