"""What a client must have seen of an order, and what has to be counted for what it saw."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import orjson

from tests.soak.answers import Asked, payload, short
from tests.soak.ledger import Ledger
from tests.soak.numbers import LLAMA_DAMAGES, VLLM_DAMAGES, Told, told_by_llama, told_by_vllm
from tests.soak.order import UNLISTED, Order, body_of

OK = 200
LEFT_CODE = 499
NO_UPSTREAM = "none"

BY_FLAW = {
    "gzip": "compressed",
    "length_too_short": "not_json",
    "not_json": "not_json",
    "no_numbers": "no_numbers",
    "error_event": "error_event",
    "other_choices": "other_choices",
}
"""Why an answer cannot be read, or only in part, by what is wrong with it."""

REFUSED = ("two_lengths", "garbage", "long_head")
"""Flaws for which a client gets 502 instead of the answer."""

READ_LIMIT = 8 * 1024 * 1024
"""Bytes of a document beyond which it is not read: the configuration's default."""


@dataclass
class Seen:
    """What a client saw of its request."""

    status: int | None = None
    """`None` without a head."""
    error: str = ""
    """Specmeter's own: why the upstream failed."""
    body: bytes = b""
    complete: bool = False
    was_reset: bool = False
    left: bool = False
    """Whether it left, on purpose."""
    checksum: str = ""
    """What the upstream says of the body that reached it."""
    disturbed: bool = False
    """Whether the upstream was down meanwhile, or killed."""


def judge(order: Order, seen: Seen, ledger: Ledger) -> list[str]:
    """Enter into the ledger what has to be counted; return what must not have been seen."""
    upstream = NO_UPSTREAM if order.kept_waiting else order.server
    if seen.left:
        return _judge_left(order, seen, ledger, upstream)
    if seen.error:
        return _judge_refused(order, seen, ledger)
    if not seen.complete:
        return _judge_broken(order, seen, ledger)
    return _judge_complete(order, seen, ledger)


def _judge_left(order: Order, seen: Seen, ledger: Ledger, upstream: str) -> list[str]:
    code = LEFT_CODE if seen.status is None else seen.status
    _enter(ledger, order, code, upstream)
    ledger.add("client_left_total", {"upstream": upstream, "endpoint": order.endpoint})
    if order.server == "cancelled" and order.stream and order.stop_after > 1:
        # Metered up to the last event that came; the first one has no content yet.
        numbers = order.numbers.at(order.stop_after - 1)
        ledger.add_completion(told_by_llama(numbers), upstream=upstream, model_name=_label(order))
    expected = b"".join(payload(order, Asked(order.asks_usage))[: order.stop_after])
    if seen.body != expected:
        return [f"left with {len(seen.body)} bytes that are not the {len(expected)} sent"]
    return []


def _judge_refused(order: Order, seen: Seen, ledger: Ledger) -> list[str]:
    assert seen.status is not None
    _enter(ledger, order, seen.status)
    ledger.add("upstream_failures_total", _because(order, seen.error))
    problems = []
    if not seen.complete:
        problems.append(f"the error {seen.status} was cut off")
    else:
        code = orjson.loads(seen.body)["error"]["code"]
        if code != f"upstream_{seen.error}":
            problems.append(f"the error's code is {code}, its header says {seen.error}")
    expected = _refusal(order)
    if not seen.disturbed and seen.error not in expected:
        problems.append(f"the upstream failed ({seen.error}), allowed {expected}")
    return problems


def _judge_broken(order: Order, seen: Seen, ledger: Ledger) -> list[str]:
    """Of an answer that breaks off what came is right, and nothing is made up."""
    code = order.status if seen.status is None else seen.status
    reason = "protocol" if order.flaw == "bad_chunk" else "broken_off"
    _enter(ledger, order, code)
    ledger.add("upstream_failures_total", _because(order, reason))
    if code == OK:
        unread = "compressed" if order.flaw == "gzip" else "cut_short"
        ledger.add("unread_completions_total", _because(order, unread))
    problems = []
    breaks = order.ending in ("close", "reset") or order.flaw in ("bad_chunk", "length_too_long")
    if not (breaks or seen.disturbed):
        problems.append("the answer broke off")
    # A reset, the only way to break off for HTTP/1.0, may overtake what was sent before it.
    overtaken = seen.was_reset and order.version == "1.0"
    if seen.status is None and not overtaken:
        problems.append("the connection ended without an answer")
    pieces = payload(order, Asked(order.asks_usage))
    expected = b"".join(pieces[: order.stop_after] if order.stop else pieces)
    if not _is_beginning(order, seen, expected):
        problems.append(f"{len(seen.body)} bytes came that are not the {len(expected)} sent")
    return problems


def _is_beginning(order: Order, seen: Seen, expected: bytes) -> bool:
    """Whether what came of a broken answer is what was sent, as far as that is known."""
    if order.ending == "reset" or order.flaw == "bad_chunk" or seen.disturbed or seen.was_reset:
        if order.is_stream_of_events and order.server != "llama":
            # What was asked for in addition is taken out of whole events only.
            return expected.startswith(_content_events(seen.body))
        return expected.startswith(seen.body)
    return seen.body == expected


def _content_events(body: bytes) -> bytes:
    """Return the whole events up to the one that finishes."""
    whole = body[: body.rfind(b"\n\n") + 2] if b"\n\n" in body else b""
    finish = whole.find(b'"finish_reason":"')
    return whole if finish < 0 else whole[: whole.rfind(b"\n\n", 0, finish) + 2]


def _judge_complete(order: Order, seen: Seen, ledger: Ledger) -> list[str]:
    assert seen.status is not None
    _enter(ledger, order, seen.status)
    expected = b"".join(payload(order, Asked(order.asks_usage)))
    if order.flaw == "length_too_short":
        expected = expected[: short(order, len(expected))]
    problems = []
    if seen.status != order.status:
        problems.append(f"status {seen.status} instead of {order.status}")
    if order.stop or order.flaw in REFUSED or order.flaw in ("length_too_long", "bad_chunk"):
        problems.append("a broken answer came whole")
    if seen.body != expected:
        problems.append(_difference(seen.body, expected))
    if order.server == "llama" and seen.checksum != str(zlib.crc32(body_of(order))):
        problems.append("the request's body did not reach the upstream as it was sent")
    if seen.status == OK:
        _enter_reading(order, len(expected), ledger)
    return problems


def _enter(ledger: Ledger, order: Order, code: int, upstream: str = "") -> None:
    name = upstream or order.server
    labels = {"upstream": name, "endpoint": order.endpoint, "code": str(code)}
    ledger.add("requests_total", labels)


def _because(order: Order, reason: str) -> dict[str, str]:
    return {"upstream": order.server, "reason": reason}


def _enter_reading(order: Order, size: int, ledger: Ledger) -> None:
    unread = BY_FLAW.get(order.flaw)
    if not order.stream and size > READ_LIMIT and unread is None:
        unread = "too_large"
    if unread:
        ledger.add("unread_completions_total", _because(order, unread))
    if unread in (None, "other_choices"):
        ledger.add_completion(told_by(order), upstream=order.server, model_name=_label(order))


def told_by(order: Order) -> Told:
    """Say what an answer's numbers come to."""
    if order.server == "vllm":
        return told_by_vllm(order.numbers, order.flaw if order.flaw in VLLM_DAMAGES else "")
    told = told_by_llama(order.numbers, order.flaw if order.flaw in LLAMA_DAMAGES else "")
    if order.flaw == "usage_only":
        return Told(generated=told.generated, prompt=told.prompt, cached=told.cached)
    return told


def _label(order: Order) -> str:
    model = order.answer_model or order.model
    return "other" if model == UNLISTED else model


def _refusal(order: Order) -> tuple[str, ...]:
    """Why the upstream may be said to have failed before its answer began."""
    if order.flaw in REFUSED:
        return ("protocol",)
    if order.ending == "reset" and order.stop:
        return ("closed_early",)  # the reset may overtake a head, too
    if order.ending == "close" and order.stop in ("at_once", "read", "in_head"):
        return ("closed_early",)
    return ()


def _difference(seen: bytes, expected: bytes) -> str:
    pairs = enumerate(zip(seen, expected, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(seen), len(expected)))
    return (
        f"{len(seen)} bytes came, {len(expected)} were sent; from byte {at} on "
        f"{seen[at : at + 30]!r} instead of {expected[at : at + 30]!r}"
    )
