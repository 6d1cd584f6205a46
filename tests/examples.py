"""An answer of every format that is known, with numbers of its own, and what it says.

Made by the servers' sources and documentation; real answers are in `captures`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.answers import Message, chat, chunk, finish, last, lines, stream

Path = tuple[str | int, ...]
"""Keys and places that lead to a value: the first one is a message's."""

FRAMING: dict[str, Callable[..., bytes]] = {
    "body": orjson.dumps,
    "events": stream,
    "lines": lines,
}


@dataclass(frozen=True)
class Example:
    """One answer."""

    kind: str
    name: str
    form: str
    """`body`, `events` or `lines`."""
    messages: tuple[Message, ...]
    counts: tuple[Path, ...]
    """Where a whole number stands that becomes part of the reading."""
    says: dict[str, Any] = field(hash=False)
    """Attributes of its reading."""

    @property
    def raw(self) -> bytes:
        return self.framed(self.messages)

    def framed(self, messages: tuple[Message, ...]) -> bytes:
        """Return these messages in the form of this answer."""
        return FRAMING[self.form](*messages)

    def __str__(self) -> str:
        return f"{self.kind}-{self.name}"


def _paths(at: int, *keys: str | int, names: str) -> tuple[Path, ...]:
    """Return the paths of several names below the same keys."""
    return tuple((at, *keys, name) for name in names.split())


USAGE = {"prompt_tokens": 41, "completion_tokens": 129, "total_tokens": 170}
USAGE_NAMES = "prompt_tokens completion_tokens"
TOKENS = {"generated": 129, "prompt": 41}
DRAFTED = {**TOKENS, "drafted": 192, "accepted": 64, "target_steps": 65}
ROUNDS = {**DRAFTED, "rounds": 64, "accepted_per_position": (40, 17, 7)}
UNKNOWN = {"drafted": None, "accepted": None, "target_steps": None}

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
        _paths(0, "timings", names=TIMINGS_NAMES),
        TIMED,
    ),
    Example(
        "llama_cpp",
        "finish_chunk",  # March to August 2025, and since then without include_usage
        "events",
        (chunk("a"), chunk("b"), {**finish(), "usage": USAGE, "timings": TIMINGS}),
        _paths(2, "timings", names=TIMINGS_NAMES),
        TIMED,
    ),
    Example(
        "llama_cpp",
        "usage_chunk",
        "events",
        (chunk("a"), finish(), last(usage=USAGE, timings=TIMINGS, **BUILD)),
        _paths(2, "timings", names=TIMINGS_NAMES),
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
        _paths(1, "timings", names=TIMINGS_NAMES),
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
        _paths(1, "timings", names=TIMINGS_NAMES),
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
        _paths(1, "timings", names=TIMINGS_NAMES),
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
            *_paths(0, "timings", names=IK_NAMES),
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
        _paths(2, "timings", names=IK_NAMES),
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
        _paths(2, "timings", names=IK_NAMES),
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
        _paths(0, "timings", names=MLX_NAMES),
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
        _paths(2, "timings", names=MLX_NAMES),
        {**TIMED, "rounds": 64},
    ),
)

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
            *_paths(0, "usage", names=USAGE_NAMES),
            *_paths(0, "metrics", "speculative_decoding", names=SPECULATIVE_NAMES),
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
            *_paths(2, "usage", names=USAGE_NAMES),
            *_paths(2, "metrics", "speculative_decoding", names=SPECULATIVE_NAMES),
        ),
        {**ROUNDS, "decode_seconds": 1.6},
    ),
    Example(
        "vllm",
        "stats_of_the_choice",
        "body",
        (chat({"speculative_decoding_stats": SPARSE}, usage=USAGE),),
        (
            *_paths(0, "usage", names=USAGE_NAMES),
            *_paths(0, "choices", 0, "speculative_decoding_stats", names=SPECULATIVE_NAMES),
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
        _paths(1, "choices", 0, "speculative_decoding_stats", names=SPECULATIVE_NAMES),
        ROUNDS,
    ),
    Example(
        "vllm",
        "stats_beside_the_choices",
        "body",
        (chat(usage=USAGE, speculative_decoding_stats=STATS),),
        _paths(
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
        _paths(6, "usage", names=USAGE_NAMES),
        {**UNKNOWN, "generated": 8, "prompt": 41, "bursts": 4, "output_per_burst": 2.0},
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
            *_paths(1, "response", "usage", names="input_tokens output_tokens"),
            *_paths(1, "response", "metrics", "speculative_decoding", names=SPECULATIVE_NAMES),
        ),
        ROUNDS,
    ),
)

DETAILS = {
    "spec_accept_rate": 0.3333,
    "spec_accept_length": 2.015625,
    "spec_cap_length": 0.0,
    "spec_block_accept_length": 0.0,
    "spec_num_correct_drafts": 64,
    "spec_num_proposed_drafts": 192,
    "spec_verify_ct": 64,
    "spec_correct_drafts_histogram": [24, 23, 10, 7],
    "spec_cap_lens_histogram": [],
}
DETAILS_NAMES = "spec_num_correct_drafts spec_num_proposed_drafts spec_verify_ct"
VERIFIED = {**ROUNDS, "steps": 65}
NATIVE = {"id": "a1", "finish_reason": None, "prompt_tokens": 41, "cached_tokens": 0}
META_INFO = {
    **NATIVE,
    "finish_reason": {"type": "length", "length": 129},
    "completion_tokens": 129,
    "spec_accept_rate": 0.333,
    "spec_accept_length": 2.02,
    "spec_num_correct_drafts": 64,
    "spec_num_proposed_drafts": 192,
    "spec_verify_ct": 64,
    "spec_correct_drafts_histogram": [24, 23, 10, 7],
}
NATIVE_NAMES = f"{USAGE_NAMES} cached_tokens {DETAILS_NAMES}"


def older(accepted: str, proposed: str, histogram: str | None) -> Message:
    """Return the speculative part of a `meta_info` under older names."""
    named: Message = {accepted: 64, proposed: 192, "spec_verify_ct": 64}
    return {**named, **({histogram: [24, 23, 10, 7]} if histogram else {})}


OLDER_NAMES = (
    ("spec_accepted_drafts", "spec_proposed_drafts", "spec_accept_histogram"),
    ("spec_accepted_tokens", "spec_draft_tokens", None),
    ("spec_accept_token_num", "spec_draft_token_num", "spec_accept_histogram"),
)


def native(text: str, tokens: int, **more: Any) -> Message:
    """Return a result of `/generate`, or what there is of it so far."""
    return {"text": text, "meta_info": {**NATIVE, "completion_tokens": tokens, **more}}


SGLANG = (
    Example(
        "sglang",
        "chat",
        "body",
        (chat({"matched_stop": None}, usage=USAGE, sglext={"spec_tokens_details": DETAILS}),),
        (
            *_paths(0, "usage", names=USAGE_NAMES),
            *_paths(0, "sglext", "spec_tokens_details", names=DETAILS_NAMES),
            (0, "sglext", "spec_tokens_details", "spec_correct_drafts_histogram", 1),
        ),
        VERIFIED,
    ),
    Example(
        "sglang",
        "stream",
        "events",
        (
            chunk("a"),
            finish(matched_stop=2),
            last(sglext={"spec_tokens_details": DETAILS}),
            last(usage=USAGE),
        ),
        (
            *_paths(2, "sglext", "spec_tokens_details", names=DETAILS_NAMES),
            *_paths(3, "usage", names=USAGE_NAMES),
        ),
        VERIFIED,
    ),
    Example(
        "sglang",
        "generate",
        "body",
        ({"text": "ab", "output_ids": [1, 2], "meta_info": META_INFO},),
        _paths(0, "meta_info", names=NATIVE_NAMES),
        {**VERIFIED, "cached_prompt": 0},
    ),
    Example(
        "sglang",
        "generate_stream",
        "events",
        (native("a", 1), native("ab", 60), {"text": "abc", "meta_info": META_INFO}),
        _paths(2, "meta_info", names=NATIVE_NAMES),
        {**VERIFIED, "cached_prompt": 0},
    ),
    *(
        Example(
            "sglang",
            f"generate_{names[0]}",
            "body",
            (native("ab", 129, **older(*names)),),
            _paths(0, "meta_info", names=f"{names[0]} {names[1]} spec_verify_ct"),
            VERIFIED if names[2] else {**DRAFTED, "rounds": 64, "steps": 65},
        )
        for names in OLDER_NAMES
    ),
    Example(
        "sglang",
        "meta_info_of_the_choice",
        "body",
        (chat({"matched_stop": None, "meta_info": META_INFO}, usage=USAGE),),
        _paths(0, "choices", 0, "meta_info", names=DETAILS_NAMES),
        VERIFIED,
    ),
)

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
        _paths(0, names=EVALUATION_NAMES),
        EVALUATED,
    ),
    Example(
        "ollama",
        "chat_stream",
        "lines",
        (ollama_chat("a"), ollama_chat("b"), ollama_chat("", **EVALUATION)),
        _paths(2, names=EVALUATION_NAMES),
        EVALUATED,
    ),
    Example(
        "ollama",
        "generate_stream",
        "lines",
        (ollama_generate("a"), ollama_generate("", **EVALUATION, context=[1, 2])),
        _paths(1, names=EVALUATION_NAMES),
        EVALUATED,
    ),
    Example(
        "ollama",
        "openai",
        "body",
        (chat(usage=USAGE, system_fingerprint="fp_ollama"),),
        _paths(0, "usage", names=USAGE_NAMES),
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
            *_paths(0, "usage", names=USAGE_NAMES),
            *_paths(0, "stats", names=DRAFT_COUNT_NAMES),
        ),
        {**DRAFTED, "decode_seconds": 1.6},
    ),
    Example(
        "lm_studio",
        "v0_usage",
        "body",
        (chat(usage={**USAGE, **DRAFT_COUNTS}, stats=CLOCK),),
        _paths(0, "usage", names=f"{USAGE_NAMES} {DRAFT_COUNT_NAMES}"),
        {**DRAFTED, "decode_seconds": 1.6},
    ),
    Example(
        "lm_studio",
        "v0_stream",
        "events",
        (chunk("a"), {**finish(), "usage": USAGE, "stats": {**CLOCK, **DRAFT_COUNTS}}),
        _paths(1, "stats", names=DRAFT_COUNT_NAMES),
        {**DRAFTED, "decode_seconds": 1.6},
    ),
    Example(
        "lm_studio",
        "openai",
        "body",
        (chat(usage=USAGE, stats=DRAFT_COUNTS, system_fingerprint="m"),),
        _paths(0, "stats", names=DRAFT_COUNT_NAMES),
        DRAFTED,
    ),
    Example(
        "lm_studio",
        "v1_chat",
        "body",
        ({"model_instance_id": "m", "output": [], "stats": CHAT_STATS, "response_id": "r"},),
        _paths(0, "stats", names="input_tokens total_output_tokens"),
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
        _paths(2, "result", "stats", names="input_tokens total_output_tokens"),
        {**TOKENS, **UNKNOWN},
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
            *_paths(0, "usage", names=USAGE_NAMES),
            *_paths(0, "usage", "completion_tokens_details", names=TABBY_NAMES),
        ),
        TIMED,
    ),
    Example(
        "tabby",
        "stream",
        "events",
        (chunk("a"), finish(), last(usage=TABBY_USAGE)),
        _paths(2, "usage", "completion_tokens_details", names=TABBY_NAMES),
        TIMED,
    ),
    Example(
        "tabby",
        "timings",
        "events",
        (chunk("a"), finish(), last(usage=TABBY_USAGE, timings=TIMINGS)),
        _paths(2, "timings", names=TIMINGS_NAMES),
        TIMED,
    ),
)

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
            *_paths(0, "usage", names=USAGE_NAMES),
            *_paths(0, "choices", 0, "speculative_decoding", names=TRT_NAMES),
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
        _paths(2, "usage", names=USAGE_NAMES),
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
        _paths(0, "choices", 0, "speculative_decoding", names=TRT_NAMES),
        {**ROUNDS, "steps": 65},
    ),
)

KOBOLDCPP = (
    Example(
        "koboldcpp",
        "generate",
        "body",
        ({"results": [{"text": "a", "prompt_tokens": 41, "completion_tokens": 129}]},),
        _paths(0, "results", 0, names=USAGE_NAMES),
        {**TOKENS, **UNKNOWN},
    ),
)

OPENAI = (
    Example(
        "openai",
        "chat",
        "body",
        (chat(usage=USAGE, system_fingerprint="fp_44709d6fcb"),),
        _paths(0, "usage", names=USAGE_NAMES),
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
        _paths(0, "usage", names="input_tokens output_tokens"),
        {**TOKENS, **UNKNOWN},
    ),
)

EXAMPLES = (
    *(*LLAMA_CPP, *IK_LLAMA, *MLX_VLM, *VLLM, *SGLANG, *OLLAMA),
    *(*LM_STUDIO, *TABBY, *TRTLLM, *KOBOLDCPP, *OPENAI),
)
