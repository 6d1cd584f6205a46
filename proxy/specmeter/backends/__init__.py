"""The server kinds. Adding one is adding a module here and a row to the table."""

from __future__ import annotations

from collections.abc import Sequence

from specmeter.backends.base import Backend, Extract, Message
from specmeter.backends.llama_cpp import LlamaCpp
from specmeter.backends.openai import OpenAI
from specmeter.backends.vllm import Vllm

__all__ = ["BACKENDS", "Backend", "Extract", "Message", "by_name", "recognise"]

BACKENDS: tuple[Backend, ...] = (LlamaCpp(), Vllm(), OpenAI())
"""In the order in which they are asked whether they recognise a message; the last takes all."""


def by_name(name: str) -> Backend | None:
    """Return the kind of that name; `None` for `auto`.

    Raises:
        KeyError: There is no such kind.
    """
    if name == "auto":
        return None
    return {backend.name: backend for backend in BACKENDS}[name]


def recognise(messages: Sequence[Message]) -> Backend | None:
    """Return the kind that sent these messages, `None` where nothing tells."""
    for backend in BACKENDS:
        if any(backend.recognises(message) for message in messages):
            return backend
    return None
