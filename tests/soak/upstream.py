"""The upstream of the soak, a process of its own: it does with each request what its order says.

`python -m tests.soak.upstream SERVER PORT` serves until SIGTERM, or until its standard input ends.
Beside what is ordered it answers two questions of the clients: whether a request has arrived, and
whether the proxy has left it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import zlib
from collections import defaultdict
from urllib.parse import parse_qs

import orjson
import uvloop

from tests.scripted import Call, Field, ScriptedUpstream, response
from tests.soak.answers import Asked, closes, pid_field, sent_pieces, wire
from tests.soak.order import CHECKSUM_HEADER, HEADER, MODELS, Order, Server, decode

ARRIVED = "/soak/arrived"
GONE = "/soak/gone"

_CUT_HEAD = 25  # bytes of an answer's head that are sent where it ends within
_RESET_DELAY = 0.02  # a reset overtakes what was not read yet


class Plays:
    """Does what orders say."""

    def __init__(self, server: ScriptedUpstream) -> None:
        self._server = server
        self._arrived: dict[int, asyncio.Event] = defaultdict(asyncio.Event)
        self._gone: dict[int, asyncio.Event] = defaultdict(asyncio.Event)

    async def play(self, call: Call) -> None:
        """Answer a request as its order says."""
        self._server.requests.clear()  # an hour's would fill the memory
        self._server.probes.clear()
        headers = call.request.all(HEADER)
        if not headers:
            await call.send(response(b"{}"))
            return
        order = decode(headers[0])
        if order.leaves:
            self._arrived[order.number].set()
        try:
            await self._obey(call, order)
        except RuntimeError:
            if not call._writer.is_closing():
                raise
            call.ended = True  # uvloop's way to say that the proxy has left
        finally:
            if order.leaves:
                self._gone[order.number].set()

    async def arrived(self, call: Call) -> None:
        """Tell once a request has come."""
        await self._told(call, self._arrived)

    async def gone(self, call: Call) -> None:
        """Tell once the proxy has left a request."""
        await self._told(call, self._gone)

    async def _told(self, call: Call, events: dict[int, asyncio.Event]) -> None:
        number = int(parse_qs(call.request.target.decode().partition("?")[2])["number"][0])
        await events[number].wait()
        await call.send(response(b"%d" % os.getpid()))
        if events is self._gone:
            self._arrived.pop(number, None)
            self._gone.pop(number, None)

    async def _obey(self, call: Call, order: Order) -> None:
        if order.stop == "at_once":
            await _end(call, order)
            return
        body = await call.body()
        if order.stop == "read":
            await _end(call, order)
            return
        answer = wire(order, _asked(body), pid_field(os.getpid()), _checksum(body))
        if order.stop == "in_head":
            await call.send(answer.head[:_CUT_HEAD])
        elif order.stop:
            after = order.stop_after if order.stop == "in_body" else 0
            await call.send(answer.head)
            await _send(call, order, answer.pieces[:after])
        else:
            await self._whole(call, order, answer.head, answer.pieces)
            return
        await _end(call, order)

    async def _whole(self, call: Call, order: Order, head: bytes, pieces: list[bytes]) -> None:
        if order.flaw == "length_too_short":
            await call.send(head + pieces[0])  # at once, so that no later answer gets the rest
        else:
            await call.send(head)
            await _send(call, order, pieces)
        if closes(order):
            call.close()


async def _send(call: Call, order: Order, framed: list[bytes]) -> None:
    for piece in sent_pieces(order, framed):
        await call.send(piece)
        if order.pause:
            await asyncio.sleep(order.pause)


async def _end(call: Call, order: Order) -> None:
    if order.ending == "close":
        call.close()
    elif order.ending == "reset":
        await asyncio.sleep(_RESET_DELAY)
        call.reset()
    else:
        call.ended = True
        while await call.read_some(65536):
            pass


def _asked(body: bytes) -> Asked:
    asked = orjson.loads(body)
    options = asked.get("stream_options") or {}
    return Asked(
        usage=options.get("include_usage") is True, running=asked.get("timings_per_token") is True
    )


def _checksum(body: bytes) -> Field:
    return (CHECKSUM_HEADER, b"%d" % zlib.crc32(body))


def models_page(server: Server) -> bytes:
    """Return what the server answers to `/v1/models`."""
    owner = "vllm" if server == "vllm" else "llamacpp"
    models = [{"id": model, "object": "model", "owned_by": owner} for model in MODELS[server]]
    return orjson.dumps({"object": "list", "data": models})


async def main(name: Server, port: int) -> None:
    """Serve until told to stop."""
    server = ScriptedUpstream(models=models_page(name), port=port)
    plays = Plays(server)
    server.script = plays.play
    server.scripts |= {ARRIVED: plays.arrived, GONE: plays.gone}
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    loop.add_reader(sys.stdin.fileno(), ended.set)
    async with server:
        await ended.wait()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], int(sys.argv[2])))  # type: ignore[arg-type]
