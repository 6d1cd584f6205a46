"""Asks a server for the usage of a stream, where it reports nothing without being asked."""

from __future__ import annotations

from typing import Any

import orjson

ENDPOINTS = frozenset(("/v1/chat/completions", "/v1/completions"))


def ask_for_usage(body: bytes) -> bytes | None:
    """Return the request with usage asked for; `None` where it should go out as it is.

    The client's bytes stay as they are: a member is added at the end, where it overrides an
    earlier one of that name. Left alone are requests that are no stream, that ask for usage
    themselves, or that ask for several outputs (whose drafting vLLM does not report).
    """
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(request, dict) or request.get("stream") is not True or _several(request):
        return None
    options = request.get("stream_options")
    if options is None:
        options = {}
    if not isinstance(options, dict) or options.get("include_usage") not in (None, False):
        return None
    if options.get("continuous_usage_stats"):
        return None  # would put usage on every chunk
    end = body.rfind(b"}")
    added = orjson.dumps({"stream_options": {**options, "include_usage": True}})
    return body[:end] + b"," + added[1:-1] + body[end:]


def _several(request: dict[str, Any]) -> bool:
    if request.get("n") not in (None, 1) or request.get("best_of") not in (None, 1):
        return True
    prompt = request.get("prompt")
    return isinstance(prompt, list) and not all(isinstance(token, int) for token in prompt)
