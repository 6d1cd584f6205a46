"""Ollama and LM Studio."""

from __future__ import annotations

from typing import Any

from tests.answers import Message, chat, chunk, finish
from tests.examples.example import DRAFTED, TOKENS, UNKNOWN, USAGE, USAGE_NAMES, Example, paths

EVALUATION = {
    "done": True,
    "done_reason": "stop",
    "total_duration": 2_000_000_000,
    "load_duration": 100_000_000,
    "prompt_eval_count": 41,
    "prompt_eval_duration": 120_000_000,
    "eval_count": 129,
    "eval_duration": 1_600_000_000,
}
EVALUATION_NAMES = "prompt_eval_count eval_count"
EVALUATED = {**TOKENS, **UNKNOWN, "decode_seconds": 1.6}


def ollama_chat(content: str, **more: Any) -> Message:
    """Return a line of `/api/chat`."""
    message = {"role": "assistant", "content": content}
    return {"model": "m", "created_at": "t", "message": message, "done": False, **more}


def ollama_generate(response: str, **more: Any) -> Message:
    """Return a line of `/api/generate`."""
    return {"model": "m", "created_at": "t", "response": response, "done": False, **more}


OLLAMA = (
    Example(
        "ollama",
        "chat",
        "body",
        (ollama_chat("ab", **EVALUATION),),
        paths(0, names=EVALUATION_NAMES),
        EVALUATED,
    ),
    Example(
        "ollama",
        "chat_stream",
        "lines",
        (ollama_chat("a"), ollama_chat("b"), ollama_chat("", **EVALUATION)),
        paths(2, names=EVALUATION_NAMES),
        EVALUATED,
    ),
    Example(
        "ollama",
        "generate_stream",
        "lines",
        (ollama_generate("a"), ollama_generate("", **EVALUATION, context=[1, 2])),
        paths(1, names=EVALUATION_NAMES),
        EVALUATED,
    ),
    Example(
        "ollama",
        "openai",
        "body",
        (chat(usage=USAGE, system_fingerprint="fp_ollama"),),
        paths(0, "usage", names=USAGE_NAMES),
        {**TOKENS, **UNKNOWN},
    ),
)

CLOCK = {
    "tokens_per_second": 80.0,
    "time_to_first_token": 0.4,
    "generation_time": 2.0,
    "stop_reason": "eosFound",
}
DRAFT_COUNTS = {
    "total_draft_tokens_count": 200,
    "accepted_draft_tokens_count": 64,
    "rejected_draft_tokens_count": 128,
    "ignored_draft_tokens_count": 8,
}
DRAFT_COUNT_NAMES = "accepted_draft_tokens_count rejected_draft_tokens_count"
CHAT_STATS = {
    "input_tokens": 41,
    "total_output_tokens": 129,
    "reasoning_output_tokens": 0,
    "tokens_per_second": 80.0,
    "time_to_first_token_seconds": 0.4,
}

LM_STUDIO = (
    Example(
        "lm_studio",
        "v0_stats",
        "body",
        (chat(usage=USAGE, stats={**CLOCK, "draft_model": "d", **DRAFT_COUNTS}),),
        (
            *paths(0, "usage", names=USAGE_NAMES),
            *paths(0, "stats", names=DRAFT_COUNT_NAMES),
        ),
        {**DRAFTED, "decode_seconds": 1.6},
    ),
    Example(
        "lm_studio",
        "v0_usage",
        "body",
        (chat(usage={**USAGE, **DRAFT_COUNTS}, stats=CLOCK),),
        paths(0, "usage", names=f"{USAGE_NAMES} {DRAFT_COUNT_NAMES}"),
        {**DRAFTED, "decode_seconds": 1.6},
    ),
    Example(
        "lm_studio",
        "v0_stream",
        "events",
        (chunk("a"), {**finish(), "usage": USAGE, "stats": {**CLOCK, **DRAFT_COUNTS}}),
        paths(1, "stats", names=DRAFT_COUNT_NAMES),
        {**DRAFTED, "decode_seconds": 1.6},
    ),
    Example(
        "lm_studio",
        "openai",
        "body",
        (chat(usage=USAGE, stats=DRAFT_COUNTS, system_fingerprint="m"),),
        paths(0, "stats", names=DRAFT_COUNT_NAMES),
        DRAFTED,
    ),
    Example(
        "lm_studio",
        "v1_chat",
        "body",
        ({"model_instance_id": "m", "output": [], "stats": CHAT_STATS, "response_id": "r"},),
        paths(0, "stats", names="input_tokens total_output_tokens"),
        {**TOKENS, **UNKNOWN},
    ),
    Example(
        "lm_studio",
        "v1_chat_stream",
        "events",
        (
            {"type": "chat.start", "model_instance_id": "m"},
            {"type": "message.delta", "content": "a"},
            {
                "type": "chat.end",
                "result": {"model_instance_id": "m", "output": [], "stats": CHAT_STATS},
            },
        ),
        paths(2, "result", "stats", names="input_tokens total_output_tokens"),
        {**TOKENS, **UNKNOWN},
    ),
)
