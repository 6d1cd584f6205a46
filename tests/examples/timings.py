"""Servers that give `timings`: llama.cpp, ik_llama.cpp, mlx-vlm and TabbyAPI."""

from __future__ import annotations

from tests.answers import chat, chunk, finish, last
from tests.examples.example import DRAFTED, ROUNDS, USAGE, USAGE_NAMES, Example, paths

TIMINGS = {
    "cache_n": 30,
    "prompt_n": 11,
    "prompt_ms": 120.5,
    "prompt_per_token_ms": 10.95,
    "prompt_per_second": 91.3,
    "predicted_n": 129,
    "predicted_ms": 1600.0,
    "predicted_per_token_ms": 12.5,
    "predicted_per_second": 80.0,
    "draft_n": 192,
    "draft_n_accepted": 64,
}
TIMINGS_NAMES = "cache_n prompt_n predicted_n draft_n draft_n_accepted"
TIMED = {**DRAFTED, "cached_prompt": 30, "decode_seconds": 1.6}
BUILD = {"system_fingerprint": "b11434-abc1234"}

LLAMA_CPP = (
    Example(
        "llama_cpp",
        "chat",
        "body",
        (chat(usage=USAGE, timings=TIMINGS, **BUILD),),
        paths(0, "timings", names=TIMINGS_NAMES),
        TIMED,
    ),
    Example(
        "llama_cpp",
        "finish_chunk",  # March to August 2025, and since then without include_usage
        "events",
        (chunk("a"), chunk("b"), {**finish(), "usage": USAGE, "timings": TIMINGS}),
        paths(2, "timings", names=TIMINGS_NAMES),
        TIMED,
    ),
    Example(
        "llama_cpp",
        "usage_chunk",
        "events",
        (chunk("a"), finish(), last(usage=USAGE, timings=TIMINGS, **BUILD)),
        paths(2, "timings", names=TIMINGS_NAMES),
        TIMED,
    ),
    Example(
        "llama_cpp",
        "router",
        "events",
        (
            chunk("a"),
            last(usage=USAGE, timings=TIMINGS, model="org/model:Q4_K_M", **BUILD),
        ),
        paths(1, "timings", names=TIMINGS_NAMES),
        TIMED,
    ),
    Example(
        "llama_cpp",
        "native",
        "events",
        (
            {"index": 0, "content": "a", "tokens": [1], "stop": False},
            {"index": 0, "content": "", "stop": True, "model": "m", "timings": TIMINGS},
        ),
        paths(1, "timings", names=TIMINGS_NAMES),
        TIMED,
    ),
    Example(
        "llama_cpp",
        "responses",
        "events",
        (
            {"type": "response.output_text.delta", "delta": "a"},
            {
                "type": "response.completed",
                "response": {
                    "model": "m",
                    "usage": {"input_tokens": 41, "output_tokens": 129},
                },
                "timings": TIMINGS,
            },
        ),
        paths(1, "timings", names=TIMINGS_NAMES),
        TIMED,
    ),
)

IK_TIMINGS = {
    **{name: value for name, value in TIMINGS.items() if name != "cache_n"},
    "prompt_n": 41,
    "prompt_per_token_ms": None,
    "n_ctx": 4096,
    "n_past": 170,
    "draft_by_depth": [
        {"depth": 1, "draft_n": 64, "draft_n_accepted": 40},
        {"depth": 2, "draft_n": 64, "draft_n_accepted": 17},
        {"depth": 3, "draft_n": 64, "draft_n_accepted": 7},
    ],
}
IK_NAMES = "prompt_n predicted_n draft_n draft_n_accepted"
IK_COUNTS = (("draft_by_depth", 0, "draft_n"), ("draft_by_depth", 1, "draft_n_accepted"))
EARLIER = {**IK_TIMINGS, "predicted_n": 60, "draft_n": 90, "draft_n_accepted": 30}

IK_LLAMA = (
    Example(
        "ik_llama",
        "chat",
        "body",
        (chat(usage=USAGE, timings=IK_TIMINGS, **BUILD),),
        (
            *paths(0, "timings", names=IK_NAMES),
            *((0, "timings", *path) for path in IK_COUNTS),
        ),
        {**ROUNDS, "decode_seconds": 1.6, "mean_acceptance_length": 2.0},
    ),
    Example(
        "ik_llama",
        "every_chunk",
        "events",
        (
            {**chunk("a"), "timings": EARLIER},
            {**chunk("b"), "timings": EARLIER},
            {**finish(), "timings": IK_TIMINGS},
        ),
        paths(2, "timings", names=IK_NAMES),
        {**ROUNDS, "decode_seconds": 1.6},
    ),
    Example(
        "ik_llama",
        "anthropic_events",  # the last one has none, those before have them
        "events",
        (
            {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 41}}},
            {"type": "content_block_delta", "index": 0, "timings": EARLIER},
            {"type": "content_block_delta", "index": 1, "timings": IK_TIMINGS},
            {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 129}},
        ),
        paths(2, "timings", names=IK_NAMES),
        ROUNDS,
    ),
)

MLX_TIMINGS = {
    **TIMINGS,
    "peak_memory": 3.1,
    "draft_kind": "mtp",
    "draft_rounds": 64,
}
MLX_NAMES = f"{TIMINGS_NAMES} draft_rounds"
ON_THE_WAY = {"timings": {"predicted_per_second": 81.2}}

MLX_VLM = (
    Example(
        "mlx_vlm",
        "chat",
        "body",
        (chat(usage=USAGE, timings=MLX_TIMINGS),),
        paths(0, "timings", names=MLX_NAMES),
        {**TIMED, "rounds": 64},
    ),
    Example(
        "mlx_vlm",
        "stream",
        "events",
        (
            chunk("a", **ON_THE_WAY),
            chunk("b", **ON_THE_WAY),
            last(usage=USAGE, timings=MLX_TIMINGS),
        ),
        paths(2, "timings", names=MLX_NAMES),
        {**TIMED, "rounds": 64},
    ),
)

TABBY_USAGE = {
    **USAGE,
    "prompt_tokens_details": {"cached_tokens": 30},
    "completion_tokens_details": {
        "accepted_prediction_tokens": 64,
        "rejected_prediction_tokens": 128,
    },
    "prompt_time": 0.1,
    "completion_time": 1.6,
    "completion_tokens_per_sec": 80.6,
    "total_time": 1.7,
}
TABBY_NAMES = "accepted_prediction_tokens rejected_prediction_tokens"

TABBY = (
    Example(
        "tabby",
        "chat",
        "body",
        (chat(usage=TABBY_USAGE),),
        (
            *paths(0, "usage", names=USAGE_NAMES),
            *paths(0, "usage", "completion_tokens_details", names=TABBY_NAMES),
        ),
        TIMED,
    ),
    Example(
        "tabby",
        "stream",
        "events",
        (chunk("a"), finish(), last(usage=TABBY_USAGE)),
        paths(2, "usage", "completion_tokens_details", names=TABBY_NAMES),
        TIMED,
    ),
    Example(
        "tabby",
        "timings",
        "events",
        (chunk("a"), finish(), last(usage=TABBY_USAGE, timings=TIMINGS)),
        paths(2, "timings", names=TIMINGS_NAMES),
        TIMED,
    ),
)
