"""Metrics pages: made up after the servers' own sources, or captured from real servers."""

from __future__ import annotations

from collections.abc import Mapping

from specmeter.upstream_pages import PAGES, Name, Page, read_page
from tests.replay import CAPTURES

Numbers = dict[Name | tuple[Name, int], float]

VLLM_ENGINES = """\
# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.79596135e+09
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 4.0
# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 64.0
vllm:spec_decode_num_drafts_total{engine="1",model_name="m"} 10.0
# HELP vllm:spec_decode_num_drafts_created Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_created gauge
vllm:spec_decode_num_drafts_created{engine="0",model_name="m"} 1.7959613618838737e+09
# HELP vllm:spec_decode_num_draft_tokens_total Number of draft tokens.
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 128.0
vllm:spec_decode_num_draft_tokens_total{engine="1",model_name="m"} 20.0
# HELP vllm:spec_decode_num_draft_tokens_per_pos_total Draft tokens per draft position.
# TYPE vllm:spec_decode_num_draft_tokens_per_pos_total counter
vllm:spec_decode_num_draft_tokens_per_pos_total{engine="0",model_name="m",position="0"} 64.0
vllm:spec_decode_num_draft_tokens_per_pos_total{engine="0",model_name="m",position="1"} 64.0
vllm:spec_decode_num_draft_tokens_per_pos_total{engine="1",model_name="m",position="0"} 10.0
vllm:spec_decode_num_draft_tokens_per_pos_total{engine="1",model_name="m",position="1"} 10.0
# HELP vllm:spec_decode_num_accepted_tokens_total Number of accepted tokens.
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 57.0
vllm:spec_decode_num_accepted_tokens_total{engine="1",model_name="m"} 12.0
# HELP vllm:spec_decode_num_accepted_tokens_per_pos_total Accepted tokens per draft position.
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 40.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 17.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="0"} 8.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="1"} 4.0
# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 700.0
vllm:prompt_tokens_total{engine="1",model_name="m"} 50.0
# HELP vllm:prompt_tokens_cached_total Number of cached prompt tokens (local + external).
# TYPE vllm:prompt_tokens_cached_total counter
vllm:prompt_tokens_cached_total{engine="0",model_name="m"} 600.0
# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 372.0
vllm:generation_tokens_total{engine="1",model_name="m"} 28.0
"""
"""Two engines, with the drafted positions of the newest builds."""

VLLM_DIFFUSION = """\
# TYPE vllm:diffusion_num_denoising_steps_total counter
vllm:diffusion_num_denoising_steps_total{engine="0",model_name="m"} 900.0
# TYPE vllm:diffusion_num_canvas_positions_total counter
vllm:diffusion_num_canvas_positions_total{engine="0",model_name="m"} 9000.0
# TYPE vllm:diffusion_num_committed_tokens_total counter
vllm:diffusion_num_committed_tokens_total{engine="0",model_name="m"} 4000.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 4000.0
"""

VLLM_VERSION_0 = """\
# TYPE vllm:spec_decode_draft_acceptance_rate gauge
vllm:spec_decode_draft_acceptance_rate{model_name="m"} 0.642
# TYPE vllm:spec_decode_efficiency gauge
vllm:spec_decode_efficiency{model_name="m"} 0.598
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{model_name="m"} 8547.0
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{model_name="m"} 13311.0
# TYPE vllm:spec_decode_num_emitted_tokens_total counter
vllm:spec_decode_num_emitted_tokens_total{model_name="m"} 10616.0
"""

SGLANG = """\
# HELP sglang:num_running_reqs The number of running requests.
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{dp_rank="0",model_name="m",pp_rank="0",priority="",tp_rank="0"} 5.0
sglang:num_running_reqs{dp_rank="0",model_name="m",pp_rank="0",priority="",tp_rank="1"} 5.0
sglang:num_running_reqs{dp_rank="0",model_name="m",pp_rank="0",priority="1",tp_rank="0"} 4.0
sglang:num_running_reqs{dp_rank="0",model_name="m",pp_rank="0",priority="9",tp_rank="0"} 1.0
sglang:num_running_reqs{dp_rank="1",model_name="m",pp_rank="0",priority="",tp_rank="2"} 2.0
# HELP sglang:spec_accept_length Mean acceptance length of speculative decoding.
# TYPE sglang:spec_accept_length gauge
sglang:spec_accept_length{dp_rank="0",model_name="m"} 2.7
# HELP sglang:spec_accept_rate Speculative acceptance rate.
# TYPE sglang:spec_accept_rate gauge
sglang:spec_accept_rate{dp_rank="0",model_name="m"} 0.57
# HELP sglang:spec_num_steps Currently active speculative_num_steps.
# TYPE sglang:spec_num_steps gauge
sglang:spec_num_steps{dp_rank="0",model_name="m"} 3.0
# HELP sglang:spec_num_draft_tokens Currently active speculative_num_draft_tokens.
# TYPE sglang:spec_num_draft_tokens gauge
sglang:spec_num_draft_tokens{dp_rank="0",model_name="m"} 4.0
# HELP sglang:prompt_tokens_total Number of prefill tokens processed.
# TYPE sglang:prompt_tokens_total counter
sglang:prompt_tokens_total{is_streaming="false",model_name="m"} 8.128902e+06
sglang:prompt_tokens_total{is_streaming="true",model_name="m"} 98.0
# HELP sglang:generation_tokens_total Number of generation tokens processed.
# TYPE sglang:generation_tokens_total counter
sglang:generation_tokens_total{is_streaming="false",model_name="m"} 7.557572e+06
sglang:generation_tokens_total{is_streaming="true",model_name="m"} 28.0
# HELP sglang:spec_verify_calls_total Number of speculative decoding verification calls.
# TYPE sglang:spec_verify_calls_total counter
sglang:spec_verify_calls_total{model_name="m"} 8060.0
"""

TRTLLM = """\
# HELP trtllm_prompt_tokens_total Cumulative number of prompt (input) tokens processed.
# TYPE trtllm_prompt_tokens_total counter
trtllm_prompt_tokens_total{engine_type="x",model_name="m"} 410.0
# HELP trtllm_generation_tokens_total Cumulative number of generation (output) tokens produced.
# TYPE trtllm_generation_tokens_total counter
trtllm_generation_tokens_total{engine_type="x",model_name="m"} 1290.0
# HELP trtllm_num_requests_running Number of active requests
# TYPE trtllm_num_requests_running gauge
trtllm_num_requests_running{engine_type="x",model_name="m"} 2.0
# HELP trtllm_spec_decode_num_draft_tokens_total Total number of draft tokens
# TYPE trtllm_spec_decode_num_draft_tokens_total counter
trtllm_spec_decode_num_draft_tokens_total{engine_type="x",model_name="m"} 1950.0
# HELP trtllm_spec_decode_num_accepted_tokens_total Total number of accepted tokens
# TYPE trtllm_spec_decode_num_accepted_tokens_total counter
trtllm_spec_decode_num_accepted_tokens_total{engine_type="x",model_name="m"} 650.0
# HELP trtllm_spec_decode_acceptance_length Acceptance length in speculative decoding
# TYPE trtllm_spec_decode_acceptance_length gauge
trtllm_spec_decode_acceptance_length{engine_type="x",model_name="m"} 1.98
# HELP trtllm_spec_decode_drafted_tokens_total Total drafted tokens per position.
# TYPE trtllm_spec_decode_drafted_tokens_total counter
trtllm_spec_decode_drafted_tokens_total{engine_type="x",model_name="m",token_position="0"} 640.0
trtllm_spec_decode_drafted_tokens_total{engine_type="x",model_name="m",token_position="1"} 630.0
# HELP trtllm_spec_decode_accepted_tokens_total Total accepted tokens per position.
# TYPE trtllm_spec_decode_accepted_tokens_total counter
trtllm_spec_decode_accepted_tokens_total{engine_type="x",model_name="m",token_position="0"} 400.0
trtllm_spec_decode_accepted_tokens_total{engine_type="x",model_name="m",token_position="1"} 170.0
"""


def llama_cpp(
    scalars: Mapping[str, int | str], per_position: tuple[int, ...] = (), *, digits: int = 6
) -> str:
    """Write a page as llama.cpp does: positions exactly, all else with six digits."""
    lines = []
    for name, value in scalars.items():
        shown = value if isinstance(value, str) else f"{value:.{digits}g}"
        lines += [f"# TYPE llamacpp:{name} counter", f"llamacpp:{name} {shown}"]
    name = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
    if per_position:
        lines.append(f"# TYPE {name} counter")
    lines += [f'{name}{{position="{at}"}} {count}' for at, count in enumerate(per_position)]
    return "".join(f"{line}\n" for line in lines)


def captured(name: str) -> bytes:
    """Return the page of a real server."""
    return (CAPTURES / name / "metrics.txt").read_bytes()


def read(kind: str, page: str | bytes) -> Page:
    """Read a page of a server kind."""
    return read_page(PAGES[kind], page.encode() if isinstance(page, str) else page)


def numbers(page: Page) -> Numbers:
    """Sum a page's counters over the series of the same name and position."""
    found: Numbers = {}
    for key, value in page.counters.items():
        what = key.name if key.position is None else (key.name, key.position)
        found[what] = found.get(what, 0) + value.number
    return found
