"""From the copy of a response to its readings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import orjson

from specmeter.backends import BACKENDS, Backend, Message, recognise
from specmeter.reading import Clock, Reading, check
from specmeter.transcript import ARRIVALS, Transcript, Unread


def _any_of(markers: Iterable[bytes]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(re.escape(marker) for marker in sorted(set(markers))))


_ALL_MARKERS = _any_of(marker for backend in BACKENDS for marker in backend.markers)
_MARKERS = {backend.name: _any_of(backend.markers) for backend in BACKENDS}
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
    if messages and messages[-1].get("error") is not None:
        unread = Unread.ERROR_EVENT
    elif not complete:
        unread = Unread.CUT_SHORT
    else:
        if messages:
            extract = backend.extract(messages)
            unread = extract.unread
            readings = tuple(check(raw) for raw in extract.numbers)
            if len(readings) == 1:  # of several outputs the copy itself tells nothing
                readings = (_completed(readings[0], transcript),)
        if not readings:
            unread = _reason(transcript, broken=broken)
    return Outcome(
        backend=backend,
        recognised=told is not None,
        readings=readings,
        unread=(unread,) if unread else (),
        model=_text(messages, "model") or _text(messages, "model_instance_id"),
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
    has_numbers = (_MARKERS[configured.name] if configured else _ALL_MARKERS).search
    found: list[Message] = []
    broken = False
    last: bytes | None = None
    for raw in transcript.raw_events():
        if b"{" not in raw:
            continue  # a comment, a ping, [DONE]
        last = raw
        if has_numbers(raw):
            broken = not _append(found, transcript.framing.data(raw)) or broken
            last = None
    if last is not None:  # it has no numbers, but the model's name, or an error
        _append(found, transcript.framing.data(last))
    return found, broken


def _append(found: list[Message], data: bytes) -> bool:
    try:
        message = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    if isinstance(message, dict):
        found.append(message)
    return True


def _reason(transcript: Transcript, *, broken: bool) -> Unread:
    if transcript.truncated:
        return Unread.TOO_LARGE
    return Unread.NOT_JSON if broken else Unread.NO_NUMBERS


def _completed(reading: Reading, transcript: Transcript) -> Reading:
    """Add what the copy itself tells."""
    if reading.bursts is not None and transcript.truncated:
        reading = msgspec.structs.replace(reading, bursts=None)  # the first ones are missing
    return _timed(reading, transcript)


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
    for event in list(transcript.events())[-ARRIVALS:]:
        parsed: list[Message] = []
        data = transcript.framing.data(event.raw)
        if b'"choices"' in data and _append(parsed, data) and parsed:
            choices = parsed[0].get("choices")
            for choice in choices if isinstance(choices, list) else ():
                seen.add(orjson.dumps(choice.get("index")) if isinstance(choice, dict) else b"")
    return len(seen)


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
