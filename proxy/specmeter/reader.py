"""From the copy of a response to its readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import orjson

from specmeter.backends import BACKENDS, Backend, Message, recognise
from specmeter.backends.markers import markers_of
from specmeter.reading import Clock, Reading, check
from specmeter.transcript import Copied, CopiedBody, CopiedStream
from specmeter.unread import Unread

_WRAPPERS = ("response", "message", "result")
"""Under these an API's event holds the whole answer."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from one response."""

    backend: Backend
    """The kind of server that sent it."""
    recognised: bool
    """Whether the response itself tells the kind, so that it may be remembered."""
    readings: tuple[Reading, ...] = ()
    """One for each choice with numbers of its own."""
    unread: tuple[Unread, ...] = ()
    model: str | None = None
    """The model as the server names it."""
    fingerprint: str | None = None
    """The server's build, as its `system_fingerprint` says."""


def read(
    copied: Copied,
    *,
    configured: Backend | None = None,
    remembered: Backend | None = None,
    complete: bool = True,
) -> Outcome:
    """Read a response that has ended.

    Args:
        copied: What was copied off it.
        configured: The upstream's kind if the configuration says it.
        remembered: What earlier answers told of it; this one may tell otherwise.
        complete: Whether the upstream sent it to its end.
    """
    messages, broken = _messages(copied, configured)
    told = recognise(messages)
    backend = configured or told or remembered or BACKENDS[-1]
    unread: Unread | None = None
    readings: tuple[Reading, ...] = ()
    if messages and messages[-1].get("error") is not None:
        unread = Unread.ERROR_EVENT
    elif not complete:
        unread = Unread.CUT_SHORT
    else:
        if messages:
            extract = backend.extract(messages)
            unread = extract.unread
            readings = tuple(map(check, extract.numbers))
            if len(readings) == 1:  # of several outputs the copy itself tells nothing
                readings = (_timed(readings[0], copied),)
        if not readings:
            unread = _reason(copied, broken=broken)
    return Outcome(
        backend=backend,
        recognised=told is not None,
        readings=readings,
        unread=(unread,) if unread else (),
        model=_text(messages, "model") or _text(messages, "model_instance_id"),
        fingerprint=_text(messages, "system_fingerprint"),
    )


def _messages(copied: Copied, configured: Backend | None) -> tuple[list[Message], bool]:
    """Return the messages that may carry numbers, in order, and whether any was broken JSON."""
    if isinstance(copied, CopiedBody):
        return _documents(copied)
    has_numbers = markers_of(configured).search
    found: list[Message] = []
    broken = False
    last = copied.last
    for at, data in enumerate(copied.numbers, start=1):
        if has_numbers(data):
            broken = not _append(found, data) or broken
        elif at == len(copied.numbers) and last is None:
            last = data
    if last is not None:  # it has no numbers, but the model's name, or an error
        _append(found, last)
    return found, broken


def _documents(copied: CopiedBody) -> tuple[list[Message], bool]:
    if copied.document is None:
        return [], False
    try:
        body = orjson.loads(copied.document)
    except orjson.JSONDecodeError:
        return [], True
    if isinstance(body, dict):
        return [body], False
    items = body if isinstance(body, list) else ()
    return [item for item in items if isinstance(item, dict)], False


def _append(found: list[Message], data: bytes) -> bool:
    try:
        message = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    if isinstance(message, dict):
        found.append(message)
    return True


def _reason(copied: Copied, *, broken: bool) -> Unread:
    if _is_too_large(copied):
        return Unread.TOO_LARGE
    return Unread.NOT_JSON if broken else Unread.NO_NUMBERS


def _is_too_large(copied: Copied) -> bool:
    if isinstance(copied, CopiedBody):
        return copied.document is None
    return copied.is_incomplete


def _timed(reading: Reading, copied: Copied) -> Reading:
    """Fill in the proxy's own clock where the server gives no decode time."""
    if reading.decode_seconds is not None or not isinstance(copied, CopiedStream):
        return reading
    if reading.sequences > 1 or copied.has_other_choices:
        return reading  # several outputs interleaved: no clock of one
    first, last = copied.first_content_at, copied.last_content_at
    if first is None or last is None or last <= first:
        return reading
    return msgspec.structs.replace(reading, decode_seconds=last - first, clock=Clock.PROXY)


def _text(messages: Sequence[Message], key: str) -> str | None:
    """Return the last text under `key`, also where an API wraps its message."""
    for message in reversed(messages):
        if isinstance(value := message.get(key), str) and value:
            return value
        holder: Any
        for holder in map(message.get, _WRAPPERS):
            if isinstance(holder, dict) and isinstance(value := holder.get(key), str) and value:
                return value
    return None
