"""Which events of a stream bring generated content."""

from __future__ import annotations

from typing import Any

import orjson

TEXT = b'content":"'
"""How it begins in most chats."""
_NO_TEXT = (b'"', b"")


def carries_content(data: bytes) -> bool:
    """Whether the data of a stream's event brings generated text, reasoning or a tool call.

    Knows the shapes of the APIs, which the servers share: chat and text completions, responses,
    Anthropic's messages, LM Studio's chat, Ollama's, and the native ones of llama.cpp, SGLang
    and KoboldCpp.
    """
    try:
        message = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(message, dict):
        return False
    if isinstance(kind := message.get("type"), str):
        return kind == "content_block_delta" or kind.endswith(".delta")
    if isinstance(choices := message.get("choices"), list):
        return any(_choice_has_content(choice) for choice in choices)
    if isinstance(inner := message.get("message"), dict):
        return _has_more_than_a_role(inner)
    return any(message.get(name) for name in ("content", "response", "thinking", "text", "token"))


def brings_text(events: bytes) -> bool:
    """Whether there is text or reasoning in these events: known by their bytes, without reading.

    Not of all servers' text, and also of such as `carries_content` leaves out in an event with a
    type: that may repeat what came before.
    """
    begins = events.find(TEXT) + len(TEXT)
    return begins >= len(TEXT) and events[begins : begins + 1] not in _NO_TEXT


def _choice_has_content(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return False
    if isinstance(delta := choice.get("delta"), dict):
        return _has_more_than_a_role(delta)
    return bool(choice.get("text") or choice.get("token_ids"))


def _has_more_than_a_role(message: dict[str, Any]) -> bool:
    return any(value for name, value in message.items() if name != "role")
