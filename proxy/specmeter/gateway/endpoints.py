"""Which requests are completions, and how an endpoint is called in a label."""

from __future__ import annotations

COMPLETIONS = frozenset(
    (
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/responses",
        "/v1/messages",
        "/inference/v1/generate",
        "/chat/completions",
        "/completion",
        "/completions",
        "/infill",
        "/responses",
        "/generate",  # SGLang
        "/api/chat",  # Ollama
        "/api/generate",
        "/api/v0/chat/completions",  # LM Studio
        "/api/v0/completions",
        "/api/v1/chat",
        "/api/v1/generate",  # KoboldCpp
        "/api/extra/generate/stream",
    )
)
"""Every path that may answer with generated text and its numbers (with `POST`)."""

OTHERS = frozenset(
    (
        "/",
        "/health",
        "/metrics",
        "/props",
        "/slots",
        "/tokenize",
        "/detokenize",
        "/v1/embeddings",
        "/v1/models",
        "/v1/rerank",
    )
)
"""Paths with a label of their own; all the rest are `other`, so that clients mint no series."""

OTHER = "other"

MODELS = "/v1/models"


def endpoint_of(target: str) -> str:
    """Return the label of a request target: a known path, or `other`.

    What stands before `/v1/` (a prefix of the server, a route of a gateway) does not matter.
    """
    path = target.partition("?")[0]
    if path in COMPLETIONS or path in OTHERS:
        return path
    start = path.rfind("/v1/")
    if start > 0 and (suffix := path[start:]) in COMPLETIONS | OTHERS:
        return suffix
    return OTHER


def is_completion(method: str, endpoint: str) -> bool:
    """Whether the answer to such a request is metered."""
    return method == "POST" and endpoint in COMPLETIONS
