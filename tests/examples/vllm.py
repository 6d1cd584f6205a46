"""vLLM, in each shape its numbers had."""

from __future__ import annotations

from tests.answers import Message, chat, chunk, finish, last
from tests.examples.example import ROUNDS, UNKNOWN, USAGE, USAGE_NAMES, Example, paths

SPECULATIVE = {
    "mean_acceptance_length": 2.0,
    "draft_acceptance_rate": 0.3333,
    "acceptance_histogram": [24, 23, 10, 7],
    "num_spec_steps": 64,
    "num_accepted_draft_tokens": 64,
    "num_draft_tokens": 192,
    "num_spec_tokens": 3,
}
SPECULATIVE_NAMES = "num_spec_steps num_accepted_draft_tokens num_draft_tokens"
METRICS = {"generation_time_ms": 1600.0, "speculative_decoding": SPECULATIVE}
SPARSE = {**SPECULATIVE, "acceptance_histogram": {"0": 24, "1": 23, "2": 10, "3": 7}}
STATS = {
    "num_drafted_tokens": 192,
    "num_accepted_tokens": 64,
    "draft_acceptance_rate": 0.3333,
    "num_draft_steps": 64,
    "mean_accepted_length_per_step": 1.0,
    "per_position_acceptance_rates": [40 / 64, 17 / 64, 7 / 64],
}


def running(content: str, tokens: int) -> Message:
    """Return a chunk that says how many tokens there are so far."""
    usage = {"prompt_tokens": 41, "completion_tokens": tokens, "total_tokens": 41 + tokens}
    return chunk(content, usage=usage)


VLLM = (
    Example(
        "vllm",
        "chat",
        "body",
        (chat(usage=USAGE, metrics=METRICS, system_fingerprint="vllm-0.32.0-1adf2225"),),
        (
            *paths(0, "usage", names=USAGE_NAMES),
            *paths(0, "metrics", "speculative_decoding", names=SPECULATIVE_NAMES),
            (0, "metrics", "speculative_decoding", "acceptance_histogram", 1),
        ),
        {**ROUNDS, "decode_seconds": 1.6},
    ),
    Example(
        "vllm",
        "usage_chunk",
        "events",
        (chunk("a"), finish(), last(usage=USAGE, metrics=METRICS)),
        (
            *paths(2, "usage", names=USAGE_NAMES),
            *paths(2, "metrics", "speculative_decoding", names=SPECULATIVE_NAMES),
        ),
        {**ROUNDS, "decode_seconds": 1.6},
    ),
    Example(
        "vllm",
        "stats_of_the_choice",
        "body",
        (chat({"speculative_decoding_stats": SPARSE}, usage=USAGE),),
        (
            *paths(0, "usage", names=USAGE_NAMES),
            *paths(0, "choices", 0, "speculative_decoding_stats", names=SPECULATIVE_NAMES),
            (0, "choices", 0, "speculative_decoding_stats", "acceptance_histogram", "1"),
        ),
        ROUNDS,
    ),
    Example(
        "vllm",
        "stats_of_the_last_chunk",
        "events",
        (
            chunk("a"),
            finish(speculative_decoding_stats=SPARSE),
            last(usage=USAGE),
        ),
        paths(1, "choices", 0, "speculative_decoding_stats", names=SPECULATIVE_NAMES),
        ROUNDS,
    ),
    Example(
        "vllm",
        "stats_beside_the_choices",
        "body",
        (chat(usage=USAGE, speculative_decoding_stats=STATS),),
        paths(
            *(0, "speculative_decoding_stats"),
            names="num_drafted_tokens num_accepted_tokens num_draft_steps",
        ),
        ROUNDS,
    ),
    Example(
        "vllm",
        "running_usage",
        "events",
        (
            running("", 0),
            running("a", 1),
            running("b", 4),
            running("c", 4),
            running("d", 5),
            {**finish(), "usage": {"prompt_tokens": 41, "completion_tokens": 8}},
            last(
                usage={"prompt_tokens": 41, "completion_tokens": 8},
                system_fingerprint="vllm-0.29.0-0123abcd",
            ),
        ),
        paths(6, "usage", names=USAGE_NAMES),
        {**UNKNOWN, "generated": 8, "prompt": 41},
    ),
    Example(
        "vllm",
        "responses",
        "events",
        (
            {"type": "response.output_text.delta", "delta": "a"},
            {
                "type": "response.completed",
                "response": {
                    "model": "m",
                    "usage": {"input_tokens": 41, "output_tokens": 129},
                    "metrics": METRICS,
                },
            },
        ),
        (
            *paths(1, "response", "usage", names="input_tokens output_tokens"),
            *paths(1, "response", "metrics", "speculative_decoding", names=SPECULATIVE_NAMES),
        ),
        ROUNDS,
    ),
)
