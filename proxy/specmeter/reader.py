"""From the copy of a response to its readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import orjson

from specmeter import sse
from specmeter.backends import BACKENDS, Backend, Message, recognise
from specmeter.reading import Clock, Reading, check
from specmeter.transcript import ARRIVALS, Transcript, Unread

_ALL_MARKERS = tuple({marker for backend in BACKENDS for marker in backend.markers})


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
    transcript: Transcript,
    *,
    configured: Backend | None = None,
    remembered: Backend | None = None,
    complete: bool = True,
) -> Outcome:
    """Read a response that has ended.

    Args:
        transcript: What was copied off it.
        configured: The upstream's kind if the configuration says it.
        remembered: What earlier answers told of it; this one may tell otherwise.
        complete: Whether the upstream sent it to its end.
    """
    messages, broken = _messages(transcript, configured)
    told = recognise(messages)
    backend = configured or told or remembered or BACKENDS[-1]
    unread: Unread | None = None
    readings: tuple[Reading, ...] = ()
    if messages and "error" in messages[-1]:
        unread = Unread.ERROR_EVENT
    elif not complete:
        unread = Unread.CUT_SHORT
    else:
        if messages:
            extract = backend.extract(messages)
            unread = extract.unread
            readings = tuple(_timed(check(raw), transcript) for raw in extract.numbers)
        if not readings:
            unread = _reason(transcript, broken=broken)
    return Outcome(
        backend=backend,
        recognised=told is not None,
        readings=readings,
        unread=(unread,) if unread else (),
        model=_text(messages, "model"),
        fingerprint=_text(messages, "system_fingerprint"),
    )


def _messages(transcript: Transcript, configured: Backend | None) -> tuple[list[Message], bool]:
    """Return the messages that may carry numbers, in order, and whether any was broken JSON."""
    if not transcript.streamed:
        try:
            body = transcript.body()
        except orjson.JSONDecodeError:
            return [], True
        items = body if isinstance(body, list) else [body]
        return [item for item in items if isinstance(item, dict)], False
    markers = configured.markers if configured else _ALL_MARKERS
    found: list[Message] = []
    broken = False
    last: bytes | None = None
    for event in sse.events(transcript.end()):
        if b"{" not in event.raw:
            continue  # a comment, a ping, [DONE]
        last = event.raw
        if any(marker in event.raw for marker in markers):
            broken = not _append(found, event.raw) or broken
            last = None
    if last is not None:  # it has no numbers, but the model's name, or an error
        _append(found, last)
    return found, broken


def _append(found: list[Message], event: bytes) -> bool:
    try:
        message = orjson.loads(sse.data(event))
    except orjson.JSONDecodeError:
        return False
    if isinstance(message, dict):
        found.append(message)
    return True


def _reason(transcript: Transcript, *, broken: bool) -> Unread:
    if transcript.truncated:
        return Unread.TOO_LARGE
    return Unread.NOT_JSON if broken else Unread.NO_NUMBERS


def _timed(reading: Reading, transcript: Transcript) -> Reading:
    """Fill in the proxy's own clock where the server gives no decode time."""
    if reading.decode_seconds is not None or not transcript.streamed:
        return reading
    if reading.sequences > 1 or _choices(transcript) > 1:
        return reading  # several outputs interleaved: no clock of one
    first, last = transcript.first_content_at(), transcript.last_content_at()
    if first is None or last is None or last <= first:
        return reading
    return msgspec.structs.replace(reading, decode_seconds=last - first, clock=Clock.PROXY)


def _choices(transcript: Transcript) -> int:
    """Return how many choices the end of a stream shows."""
    seen = set()
    for event in list(sse.events(transcript.end()))[-ARRIVALS:]:
        parsed: list[Message] = []
        if b'"choices"' in event.raw and _append(parsed, event.raw) and parsed:
            choices = parsed[0].get("choices")
            for choice in choices if isinstance(choices, list) else ():
                seen.add(orjson.dumps(choice.get("index")) if isinstance(choice, dict) else b"")
    return len(seen)


def _text(messages: Sequence[Message], key: str) -> str | None:
    """Return the last text under `key`, also where an API wraps its message."""
    for message in reversed(messages):
        holder: Any
        for holder in (message, message.get("response"), message.get("message")):
            if isinstance(holder, dict) and isinstance(value := holder.get(key), str) and value:
                return value
    return None
