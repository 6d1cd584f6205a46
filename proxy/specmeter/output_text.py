"""The text that a completion generated, for comparing two of them; never stored, never logged.

Knows the shapes of the APIs, which the servers share: chat and text completions, responses,
Anthropic's messages, Ollama's, and llama.cpp's native one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from specmeter.backends.choices import has_other_choice
from specmeter.transcript import Copied, CopiedBody

_TEXTS = ("reasoning_content", "reasoning", "thinking", "content", "refusal")


def output_text(copied: Copied) -> str | None:
    """Return what was generated: text, reasoning, calls of tools, in the order they came.

    Returns:
        `None` if the copy is not whole, is no JSON, or holds several choices.
    """
    documents = _documents(copied)
    if documents is None:
        return None
    pieces: list[str] = []
    for data in documents:
        try:
            document = orjson.loads(data)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(document, dict):
            continue
        if has_other_choice(document):
            return None
        pieces += _pieces(document)
    return "".join(pieces)


def _documents(copied: Copied) -> list[bytes] | None:
    if isinstance(copied, CopiedBody):
        return None if copied.document is None else [copied.document]
    if copied.everything is None:
        return None
    # What is no object is a comment, a ping, [DONE].
    return [data for data in copied.everything if data.startswith(b"{")]


def _pieces(document: dict[str, Any]) -> Iterator[str]:
    kind = document.get("type")
    delta = document.get("delta")
    if isinstance(kind, str) and kind.endswith(".delta"):
        yield from _texts([delta])
    elif kind == "content_block_delta" and isinstance(delta, dict):
        yield from _texts([delta.get(name) for name in ("thinking", "text", "partial_json")])
    elif isinstance(choices := document.get("choices"), list):
        for choice in _dicts(choices):
            yield from _of_message(choice.get("delta") or choice.get("message"))
            yield from _texts([choice.get("text")])
    elif isinstance(inner := document.get("message"), dict) and kind is None:
        yield from _of_message(inner)
    elif isinstance(output := document.get("output"), list):
        for item in _dicts(output):
            yield from _of_parts(item.get("summary"))
            yield from _of_parts(item.get("content"))
            yield from _texts([item.get("name"), item.get("arguments")])
    elif isinstance(kind, str) and kind != "message":
        return  # an event of the responses or messages API that repeats what its deltas said
    else:
        yield from _of_parts(document.get("content"))
        yield from _texts([document.get("response"), document.get("content")])


def _of_message(message: Any) -> Iterator[str]:
    if not isinstance(message, dict):
        return
    for name in _TEXTS:
        value = message.get(name)
        yield from _texts([value])
        yield from _of_parts(value)
    for call in _dicts(message.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, dict):
            arguments = function.get("arguments")
            if isinstance(arguments, dict):  # Ollama's are no text
                arguments = orjson.dumps(arguments).decode()
            yield from _texts([function.get("name"), arguments])


def _of_parts(parts: Any) -> Iterator[str]:
    for part in _dicts(parts):
        yield from _texts([part.get(name) for name in ("thinking", "text", "name")])
        if "input" in part:
            yield orjson.dumps(part["input"]).decode()


def _texts(values: list[Any]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))


def _dicts(values: Any) -> Iterator[dict[str, Any]]:
    return (
        (value for value in values if isinstance(value, dict))
        if isinstance(values, list)
        else iter(())
    )
