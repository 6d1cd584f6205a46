"""The mix of traffic: order n of a seed is always the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from tests.gateway.client import CHAT
from tests.soak.numbers import LLAMA_DAMAGES, VLLM_DAMAGES, some_numbers
from tests.soak.order import MODELS, UNLISTED, Order, Server

_KIB = 1024
_MIB = 1024 * 1024
_PIPELINED = 3

Maker = Callable[[random.Random, Order], Order]


@dataclass(frozen=True)
class Batch:
    """Orders that go out together, on one connection."""

    kind: str
    orders: tuple[Order, ...]


def batches(seed: int) -> Iterator[Batch]:
    """Yield one batch after the other, for ever; all but the pipelined ones are of one order."""
    names, weights = zip(*((name, weight) for name, (weight, _) in KINDS.items()), strict=True)
    number = 0
    while True:
        dice = random.Random(f"{seed}:{number}")
        (kind,) = dice.choices(names, weights)
        count = _PIPELINED if kind == "pipelined" else 1
        made = (_plain(dice, at) for at in range(number, number + count))
        yield Batch(kind, tuple(KINDS[kind][1](dice, order) for order in made))
        number += count


def _plain(dice: random.Random, number: int) -> Order:
    """Draw an answer that is all right."""
    server: Server = dice.choice(tuple(MODELS))
    stream = dice.random() < 0.6
    return Order(
        number=number,
        server=server,
        model=dice.choice(MODELS[server]),
        numbers=some_numbers(dice, rounds=server == "vllm"),
        endpoint=dice.choice((CHAT, CHAT, "/v1/completions")),
        stream=stream,
        asks_usage=stream and server == "vllm" and dice.random() < 0.5,
        answer_model=UNLISTED if dice.random() < 0.05 else "",
        events=dice.randint(1, 40) if stream else 4,
        text=dice.choice((8, 8, 30, 400)),
        framing="chunked" if stream else dice.choice(("length", "length", "chunked")),
        cut=dice.choice(("events", "events", "random")),
        pause=dice.choice((0.0, 0.0, 0.002, 0.02)) if stream else 0.0,
        upload=dice.choice((0, 100, 4000)),
        upload_chunked=dice.random() < 0.15,
        by_query=dice.random() < 0.2,
    )


def _as_it_is(_dice: random.Random, order: Order) -> Order:
    return order


def _pipelined(_dice: random.Random, order: Order) -> Order:
    return replace(order, pause=0.0)


def _http_1_0(_dice: random.Random, order: Order) -> Order:
    return replace(order, version="1.0", upload_chunked=False)


def _ends_with_the_connection(_dice: random.Random, order: Order) -> Order:
    return replace(order, framing="close")


def _byte_by_byte(dice: random.Random, order: Order) -> Order:
    return replace(order, cut="bytes", events=dice.randint(1, 4), text=8, pause=0.0)


def _large_answer(dice: random.Random, order: Order) -> Order:
    size = dice.choice((300 * _KIB, _MIB, 3 * _MIB, 6 * _MIB, 10 * _MIB))
    events = dice.choice((4, 20))
    return replace(order, events=events, text=size // events, cut="events", pause=0.0)


def _large_request(dice: random.Random, order: Order) -> Order:
    size = dice.choice((200 * _KIB, _MIB, 4 * _MIB, 16 * _MIB))
    # A body beyond 8 MiB is not looked at, unless for its model, so vLLM is not asked for numbers.
    return replace(order, upload=size, by_query=order.by_query and order.server == "llama")


def _slow_client(dice: random.Random, order: Order) -> Order:
    size = dice.choice((100 * _KIB, _MIB, 2 * _MIB))
    return replace(order, slow=True, events=8, text=size // 8, cut="events", pause=0.0)


def _error_status(dice: random.Random, order: Order) -> Order:
    status = dice.choice((400, 401, 404, 418, 429, 500, 503))
    return replace(order, status=status, events=1, pause=0.0, framing="length", answer_model="")


def _damaged(dice: random.Random, order: Order) -> Order:
    damages = VLLM_DAMAGES if order.server == "vllm" else LLAMA_DAMAGES
    return replace(order, flaw=dice.choice(damages))


def _compressed(_dice: random.Random, order: Order) -> Order:
    # What was asked for in addition cannot be taken out of a compressed stream again.
    return replace(
        order,
        flaw="gzip",
        framing="length",
        stream=order.stream and order.server == "llama",
        asks_usage=False,
    )


def _unreadable(dice: random.Random, order: Order) -> Order:
    flaw = dice.choice(("not_json", "no_numbers", "error_event", "usage_only", "other_choices"))
    if flaw in ("usage_only", "other_choices"):
        return replace(
            order, flaw=flaw, server="llama", model="llama-a", stream=False, asks_usage=False
        )
    if flaw == "error_event":
        return replace(order, flaw=flaw, stream=True, framing="chunked")
    # Running timings would be numbers after all.
    server: Server = "llama" if order.stream else order.server
    return replace(order, flaw=flaw, server=server, model=MODELS[server][0], asks_usage=False)


def _breaks_http(dice: random.Random, order: Order) -> Order:
    flaw = dice.choice(("length_too_long", "bad_chunk", "two_lengths", "garbage", "long_head"))
    return replace(order, flaw=flaw, stream=False, framing="chunked")


def _length_too_short(_dice: random.Random, order: Order) -> Order:
    return replace(order, flaw="length_too_short", stream=False)


def _ends_early(dice: random.Random, order: Order) -> Order:
    """Break off, in good order or not, in each phase of an answer."""
    order = replace(
        order,
        stop=dice.choice(("at_once", "read", "in_head", "head", "in_body")),
        ending=dice.choice(("close", "reset")),
        cut="events",
        events=max(order.events, 4),
    )
    return _within(dice, order) if order.stop == "in_body" else order


def _left(dice: random.Random, order: Order) -> Order:
    """Have the client leave, while the upstream hangs, in each phase of an answer."""
    order = replace(
        order,
        stop=dice.choice(("read", "head", "in_body", "in_body")),
        ending="hang",
        leaves=dice.choice(("close", "reset")),
        cut="events",
        events=max(order.events, 4),
        answer_model="",
    )
    return _within(dice, order) if order.stop == "in_body" else order


def _left_in_the_upload(dice: random.Random, order: Order) -> Order:
    return replace(
        order,
        stop="at_once",
        ending="hang",
        leaves=dice.choice(("close", "reset")),
        upload=dice.choice((4000, 200 * _KIB)),
        upload_stops=True,
        upload_chunked=False,
        # Of the others the proxy looks at the body first, whoever names the model.
        **({"server": "llama", "model": "llama-a"} if order.by_query else {}),
    )


def _within(dice: random.Random, order: Order) -> Order:
    """Choose how much of an answer's body comes; its numbers never do."""
    return replace(order, stop_after=dice.randint(1, order.events - 1))


KINDS: dict[str, tuple[float, Maker]] = {
    "plain": (55, _as_it_is),
    "pipelined": (4, _pipelined),
    "HTTP/1.0": (2, _http_1_0),
    "ends with the connection": (2, _ends_with_the_connection),
    "byte by byte": (3, _byte_by_byte),
    "large answer": (1.5, _large_answer),
    "large request": (1, _large_request),
    "slow client": (2, _slow_client),
    "error status": (5, _error_status),
    "damaged numbers": (6, _damaged),
    "compressed": (2, _compressed),
    "unreadable": (5, _unreadable),
    "breaks HTTP": (4, _breaks_http),
    "length too short": (1, _length_too_short),
    "ends early": (6, _ends_early),
    "ends early for HTTP/1.0": (
        0.5,
        lambda dice, order: _http_1_0(dice, _ends_early(dice, order)),
    ),
    "client leaves": (6, _left),
    "client leaves in its upload": (2, _left_in_the_upload),
}
"""How often each kind comes, and how it is made of a plain answer."""
