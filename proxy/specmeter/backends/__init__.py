"""The server kinds. Adding one is adding a module here and a row to the table."""

from __future__ import annotations

from collections.abc import Sequence

from specmeter.backends.base import Backend, Extract, Message
from specmeter.backends.ik_llama import IkLlama
from specmeter.backends.koboldcpp import KoboldCpp
from specmeter.backends.llama_cpp import LlamaCpp
from specmeter.backends.lm_studio import LmStudio
from specmeter.backends.mlx_vlm import MlxVlm
from specmeter.backends.ollama import Ollama
from specmeter.backends.openai import OpenAI
from specmeter.backends.sglang import Sglang
from specmeter.backends.tabby import Tabby
from specmeter.backends.trtllm import TrtLlm
from specmeter.backends.vllm import Vllm

__all__ = ["BACKENDS", "Backend", "Extract", "Message", "by_name", "recognise"]

BACKENDS: tuple[Backend, ...] = (
    IkLlama(),
    MlxVlm(),
    Tabby(),
    LlamaCpp(),
    Vllm(),
    Sglang(),
    TrtLlm(),
    Ollama(),
    LmStudio(),
    KoboldCpp(),
    OpenAI(),
)
"""In the order in which they are asked whether they recognise a message; the last takes all.

Those that give llama.cpp's timings with something of their own come before llama.cpp.
"""

_LOOKED_AT = 8
"""How many messages, from the end, are asked who sent them."""


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
    last = messages[-_LOOKED_AT:]
    for backend in BACKENDS:
        for message in last:
            if backend.recognises(message):
                return backend
    return None


def is_told_better(known: Backend | None, told: Backend) -> bool:
    """Whether what an answer tells is more than what is known of its server.

    Servers that give llama.cpp's timings do so with their own marks on some answers and without on
    others. The latter do not make llama.cpp of them.
    """
    return known is not told and not isinstance(known, type(told))
