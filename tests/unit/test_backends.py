"""The table of server kinds."""

from typing import Any

import pytest

from specmeter.backends import BACKENDS, by_name, is_told_better, recognise


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ({"timings": {}}, "llama_cpp"),
        ({"system_fingerprint": "b11434-abc1234"}, "llama_cpp"),
        ({"system_fingerprint": "b0-unknown"}, "llama_cpp"),
        ({"owned_by": "llamacpp"}, "llama_cpp"),
        ({"timings": {"predicted_n": 5, "n_past": 9}}, "ik_llama"),
        ({"timings": {"draft_by_depth": []}, "system_fingerprint": "b1-a"}, "ik_llama"),
        ({"timings": {"predicted_per_second": 50.0}}, "mlx_vlm"),
        ({"timings": {"predicted_n": 5, "peak_memory": 2.0}}, "mlx_vlm"),
        ({"timings": {"predicted_n": 5, "draft_kind": None}}, "mlx_vlm"),
        ({"owned_by": "tabbyAPI"}, "tabby"),
        ({"usage": {"completion_tokens_per_sec": None}}, "tabby"),
        ({"usage": {"completion_tokens_per_sec": "-"}, "timings": {}}, "tabby"),
        ({"system_fingerprint": "vllm-0.32.0-1adf2225"}, "vllm"),
        ({"metrics": {"speculative_decoding": None}}, "vllm"),
        ({"response": {"metrics": {"speculative_decoding": None}}}, "vllm"),
        ({"choices": [{"speculative_decoding_stats": None}]}, "vllm"),
        ({"speculative_decoding_stats": {}}, "vllm"),
        ({"owned_by": "vllm"}, "vllm"),
        ({"owned_by": "sglang"}, "sglang"),
        ({"sglext": {}}, "sglang"),
        ({"text": "a", "meta_info": {"id": "x"}}, "sglang"),
        ({"choices": [{"matched_stop": None}]}, "sglang"),
        ({"owned_by": "tensorrt_llm"}, "trtllm"),
        ({"choices": [{"avg_decoded_tokens_per_iter": None}]}, "trtllm"),
        ({"choices": [{"speculative_decoding": None}]}, "trtllm"),
        ({"system_fingerprint": "fp_ollama"}, "ollama"),
        ({"done": True, "eval_count": 5, "eval_duration": 10**9}, "ollama"),
        ({"stats": {"generation_time": 1.0}}, "lm_studio"),
        ({"stats": {"total_output_tokens": 1}}, "lm_studio"),
        ({"type": "chat.end", "result": {"stats": {"total_output_tokens": 1}}}, "lm_studio"),
        ({"usage": {"total_draft_tokens_count": 1}}, "lm_studio"),
        ({"owned_by": "organization_owner"}, "lm_studio"),
        ({"results": [{"text": "a"}]}, "koboldcpp"),
        ({"owned_by": "koboldcpp"}, "koboldcpp"),
        ({"done": True, "eval_count": 5, "eval_duration": 1}, None),  # KoboldCpp as Ollama
        ({"system_fingerprint": "fp_44709d6fcb"}, None),
        ({"system_fingerprint": 5, "timings": None, "metrics": 3, "stats": []}, None),
        ({"choices": ["x", None, 5], "usage": 5, "sglext": 5, "results": [5]}, None),
        ({"stats": {}, "response": "text", "result": 5, "message": "text"}, None),
        ({}, None),
    ],
)
def test_the_kind_is_found_out_from_answers(message: dict[str, Any], name: str | None) -> None:
    """Fingerprint, shape or owner tell; nothing else does."""
    found = recognise([message])
    assert (found.name if found else None) == name


def test_a_long_stream_is_recognised_by_its_end() -> None:
    """Who sent thousands of chunks is told by the last ones."""
    chunks: list[dict[str, Any]] = [{"choices": [], "usage": {}}] * 5000
    found = recognise([*chunks, {"system_fingerprint": "vllm-1"}])
    assert found is by_name("vllm")


def test_kinds_by_name() -> None:
    """Each kind has its own name; `auto` is none."""
    assert [by_name(backend.name) for backend in BACKENDS] == list(BACKENDS)
    assert by_name("auto") is None
    with pytest.raises(KeyError):
        by_name("nope")


@pytest.mark.parametrize(
    ("known", "told", "better"),
    [
        ("auto", "llama_cpp", True),
        ("llama_cpp", "llama_cpp", False),
        ("vllm", "llama_cpp", True),
        ("llama_cpp", "vllm", True),
        ("llama_cpp", "ik_llama", True),
        ("ik_llama", "llama_cpp", False),
        ("mlx_vlm", "llama_cpp", False),
        ("mlx_vlm", "ik_llama", True),
        ("openai", "ollama", True),
    ],
)
def test_what_replaces_what_is_known(known: str, told: str, better: bool) -> None:
    """A server is what its answers say, but timings alone make no llama.cpp of its likenesses."""
    backend = by_name(told)
    assert backend is not None
    assert is_told_better(by_name(known), backend) is better
