"""What a server kind can be told in specmeter's own requests; others refuse what they do not know.

Source: llama.cpp's tools/server/server-task.cpp, vLLM's and SGLang's OpenAI protocol.
"""

from __future__ import annotations

from specmeter.backends.base import Backend
from specmeter.backends.injection import Request

_LLAMA = ("llama_cpp", "ik_llama")


def full_length(backend: Backend | None) -> Request:
    """Return what makes a server go on to the length that was asked for; empty if nothing does."""
    if backend is not None and backend.name in (*_LLAMA, "vllm", "sglang"):
        return {"ignore_eos": True}
    return {}


def without_prompt_cache(backend: Backend | None) -> Request:
    """Return what makes a server read the whole prompt anew; empty if nothing does."""
    if backend is not None and backend.name in _LLAMA:
        return {"cache_prompt": False}
    return {}
