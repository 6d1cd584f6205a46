"""SGLang's answers, with and without what a request can ask for, as its source writes them."""

from __future__ import annotations

import json
from typing import Any

from tests.examples.sglang import DETAILS

DONE = "data: [DONE]\n\n"
USAGE: dict[str, Any] = {
    "prompt_tokens": 41,
    "total_tokens": 44,
    "completion_tokens": 3,
    "prompt_tokens_details": None,
    "reasoning_tokens": 0,
}
TEXTS = ("a", '\u00fc {"usage":{', "\U0001f600")
"""What the model says: with its own idea of JSON, and beyond ASCII."""


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def running(count: int) -> dict[str, Any]:
    """Return the usage of the chunk that brings the tokens up to this count."""
    return {**USAGE, "completion_tokens": count, "total_tokens": 41 + count}


def _chunk(head: dict[str, Any], choices: list[Any], usage: Any, **more: Any) -> str:
    """Write a chunk as pydantic does: null where there is no usage."""
    return f"data: {compact({**head, 'choices': choices, 'usage': usage, **more})}\n\n"


def _end(head: dict[str, Any], *, drafts: bool, usage: bool) -> str:
    """Write what follows the last choice."""
    extension = {"sglext": {"spec_tokens_details": DETAILS}}
    return (
        (_chunk(head, [], None, **extension) if drafts else "")
        + (_chunk(head, [], USAGE) if usage else "")
        + DONE
    )


def text_stream(*, drafts: bool = False, usage: bool = False, every: bool = False) -> bytes:
    """Return a stream of `/v1/completions`.

    Args:
        drafts: With `return_spec_tokens_details`.
        usage: With `include_usage`.
        every: With `continuous_usage_stats`.
    """
    head = {"id": "c1", "object": "text_completion", "created": 1, "model": "m"}
    out = ""
    for at, text in enumerate(TEXTS):
        finish = "stop" if at == len(TEXTS) - 1 else None
        choice = {
            "index": 0,
            "text": text,
            "logprobs": None,
            "finish_reason": finish,
            "matched_stop": 2 if finish else None,
        }
        out += _chunk(head, [choice], running(at + 1) if every else None)
    return (out + _end(head, drafts=drafts, usage=usage)).encode()


def chat_stream(
    *, drafts: bool = False, usage: bool = False, every: bool = False, old: bool = False
) -> bytes:
    """Return a stream of `/v1/chat/completions`, of a version from before 2026 if `old`.

    Since then msgspec writes content, without usage where there is none, and pydantic tool calls.
    """
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    out = ""
    for at, text in enumerate(TEXTS):
        count = running(at + 1) if every else None
        rest = {"logprobs": None, "finish_reason": None, "matched_stop": None}
        if old:
            delta = {"role": None, "content": text, "reasoning_content": None, "tool_calls": None}
            out += _chunk(head, [{"index": 0, "delta": delta, **rest}], count)
        else:
            choice = {"index": 0, "delta": {"reasoning_content": None, "content": text}, **rest}
            body = {**head, "choices": [choice], **({"usage": count} if count else {})}
            out += f"data: {compact(body)}\n\n"
    call = {"id": "t", "index": 0, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    called = {"role": None, "content": None, "reasoning_content": None, "tool_calls": [call]}
    out += _chunk(head, [{"index": 0, "delta": called}], running(3) if every else None)
    finish = {"index": 0, "delta": {}, "finish_reason": "tool_calls", "matched_stop": None}
    body = {**head, "choices": [finish]}
    out += _chunk(head, [finish], None) if old else f"data: {compact(body)}\n\n"
    return (out + _end(head, drafts=drafts, usage=usage)).encode()


def document(text: str = "a", *, drafts: bool = False) -> bytes:
    """Return a chat completion that is not streamed."""
    message = {"role": "assistant", "content": text, "tool_calls": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "matched_stop": 2}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    extension = {"sglext": {"spec_tokens_details": DETAILS}} if drafts else {}
    more = {"usage": USAGE, "metadata": {"weight_version": "default"}, **extension}
    return compact({**body, "choices": [choice], **more}).encode()
