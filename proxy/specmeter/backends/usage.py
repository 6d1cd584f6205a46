"""Token counts as the APIs give them, whatever server is behind.

OpenAI's chat and text completions, its responses, and Anthropic's messages: three shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from specmeter.backends.counts import total


class Usage(msgspec.Struct, frozen=True):
    """Unchecked token counts: any JSON value, `None` if absent."""

    generated: Any = None
    prompt: Any = None
    cached_prompt: Any = None


def find_usage(messages: Iterable[dict[str, Any]]) -> Usage | None:
    """Return the counts of the last message that has any.

    Anthropic's streams spread them over two events, so what a later one lacks is taken from an
    earlier one.
    """
    found: Usage | None = None
    for message in messages:
        usage = _usage_object(message)
        if usage is not None:
            found = _merge(_read(usage), found)
    return found


def last_usage_object(messages: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the last usage as the server wrote it, with what only that server has in it."""
    return next((one for one in map(_usage_object, reversed(messages)) if one is not None), None)


def _usage_object(message: dict[str, Any]) -> dict[str, Any] | None:
    for holder in (message, message.get("response"), message.get("message")):
        if isinstance(holder, dict) and isinstance(usage := holder.get("usage"), dict):
            return usage
    return None


def _read(usage: dict[str, Any]) -> Usage:
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        return Usage(
            usage.get("completion_tokens"),
            usage.get("prompt_tokens"),
            _detail(usage, "prompt_tokens_details"),
        )
    cached = _detail(usage, "input_tokens_details")
    prompt = usage.get("input_tokens")
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        # Anthropic's input_tokens leave out what was found in, or written to, the cache.
        cached = usage.get("cache_read_input_tokens")
        prompt = total((prompt, cached, usage.get("cache_creation_input_tokens")))
    return Usage(usage.get("output_tokens"), prompt, cached)


def _detail(usage: dict[str, Any], key: str) -> Any:
    details = usage.get(key)
    return details.get("cached_tokens") if isinstance(details, dict) else None


def _merge(new: Usage, old: Usage | None) -> Usage:
    if old is None:
        return new
    return Usage(
        old.generated if new.generated is None else new.generated,
        old.prompt if new.prompt is None else new.prompt,
        old.cached_prompt if new.cached_prompt is None else new.cached_prompt,
    )
