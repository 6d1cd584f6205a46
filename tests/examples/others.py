"""TensorRT-LLM, KoboldCpp, and any other server."""

from __future__ import annotations

from tests.answers import chat, chunk, finish, last
from tests.examples.example import ROUNDS, TOKENS, UNKNOWN, USAGE, USAGE_NAMES, Example, paths

TRT_SPECULATIVE = {
    "acceptance_rate": 0.3333,
    "total_accepted_draft_tokens": 64,
    "total_draft_tokens": 192,
    "num_spec_steps": 64,
    "acceptance_histogram": [24, 23, 10, 7],
    "num_spec_tokens": 3,
}
TRT_NAMES = "total_accepted_draft_tokens total_draft_tokens num_spec_steps"

TRTLLM = (
    Example(
        "trtllm",
        "chat",
        "body",
        (chat({"speculative_decoding": TRT_SPECULATIVE}, usage=USAGE),),
        (
            *paths(0, "usage", names=USAGE_NAMES),
            *paths(0, "choices", 0, "speculative_decoding", names=TRT_NAMES),
        ),
        ROUNDS,
    ),
    Example(
        "trtllm",
        "average",
        "events",
        (
            chunk("a"),
            finish(avg_decoded_tokens_per_iter=129 / 65),
            last(usage=USAGE),
        ),
        paths(2, "usage", names=USAGE_NAMES),
        {**TOKENS, "drafted": None, "steps": 65, "target_steps": 65},
    ),
    Example(
        "trtllm",
        "both",
        "body",
        (
            chat(
                {
                    "avg_decoded_tokens_per_iter": 1.9846153259277344,  # a float of 32 bits
                    "speculative_decoding": TRT_SPECULATIVE,
                },
                usage=USAGE,
            ),
        ),
        paths(0, "choices", 0, "speculative_decoding", names=TRT_NAMES),
        {**ROUNDS, "steps": 65},
    ),
)

KOBOLDCPP = (
    Example(
        "koboldcpp",
        "generate",
        "body",
        ({"results": [{"text": "a", "prompt_tokens": 41, "completion_tokens": 129}]},),
        paths(0, "results", 0, names=USAGE_NAMES),
        {**TOKENS, **UNKNOWN},
    ),
)

OPENAI = (
    Example(
        "openai",
        "chat",
        "body",
        (chat(usage=USAGE, system_fingerprint="fp_44709d6fcb"),),
        paths(0, "usage", names=USAGE_NAMES),
        {**TOKENS, **UNKNOWN},
    ),
    Example(
        "openai",
        "messages",
        "events",
        (
            {
                "type": "message_start",
                "message": {
                    "model": "m",
                    "usage": {"input_tokens": 11, "cache_read_input_tokens": 30},
                },
            },
            {"type": "content_block_delta", "index": 0, "delta": {"text": "a"}},
            {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 129}},
            {"type": "message_stop"},
        ),
        (
            (0, "message", "usage", "input_tokens"),
            (0, "message", "usage", "cache_read_input_tokens"),
            (2, "usage", "output_tokens"),
        ),
        {**TOKENS, **UNKNOWN, "cached_prompt": 30},
    ),
    Example(
        "openai",
        "responses",
        "body",
        (
            {
                "object": "response",
                "model": "m",
                "error": None,
                "output": [],
                "usage": {"input_tokens": 41, "output_tokens": 129},
            },
        ),
        paths(0, "usage", names="input_tokens output_tokens"),
        {**TOKENS, **UNKNOWN},
    ),
)
