"""A client's request as it is replayed: streamed, at the same length and sampling."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from specmeter.discreet import Discreet
from specmeter.gateway.inject import with_members

_LENGTH = {
    "/v1/chat/completions": ("max_completion_tokens", "max_tokens"),
    "/chat/completions": ("max_completion_tokens", "max_tokens"),
    "/v1/completions": ("max_tokens",),
    "/completions": ("max_tokens", "n_predict"),
    "/v1/responses": ("max_output_tokens",),
    "/responses": ("max_output_tokens",),
    "/v1/messages": ("max_tokens",),
    "/completion": ("n_predict",),
    "/infill": ("n_predict",),
}
"""The members that limit the length; where none is given, the last one is added."""


class Replay(Discreet, msgspec.Struct, frozen=True):
    """A request to send."""

    body: bytes
    is_greedy: bool
    """Whether its output should be the same every time."""


def can_be_replayed(endpoint: str) -> bool:
    """Whether requests to it are understood well enough."""
    return endpoint in _LENGTH


def replay_of(endpoint: str, body: bytes, tokens: int, model: str) -> Replay | None:
    """Return what is sent to the plain upstream.

    It is streamed: a stream that is given up ends at once, and its time can be taken from outside.

    Args:
        endpoint: One that `can_be_replayed`.
        body: As the client sent it.
        tokens: That were generated (>= 1).
        model: Its name at the plain upstream; empty for the one the client asked for.

    Returns:
        `None` for what is no single completion.
    """
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(asked, dict) or not asked or asked.get("n") not in (None, 1):
        return None
    names = _LENGTH[endpoint]
    length = next((name for name in names if asked.get(name) is not None), names[-1])
    members: dict[str, Any] = {"stream": True, length: tokens}
    if model and "model" in asked:
        members["model"] = model
    return Replay(with_members(body, members), _is_greedy(asked))


def _is_greedy(asked: dict[str, Any]) -> bool:
    temperature = asked.get("temperature")
    return isinstance(temperature, int | float) and temperature == 0
