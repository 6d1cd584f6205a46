"""TensorRT-LLM's page.

Source: tensorrt_llm/metrics/collector.py and serve/openai_server.py. Needs `return_perf_metrics`,
and `enable_iter_perf_stats` for the totals of drafting. Traps: `/metrics` is JSON of the last
iterations that is gone once it was read, so it is never asked for; `…spec_decode_num_draft_tokens`
counts iterations as they come, while `…spec_decode_drafted_tokens` counts the positions of finished
requests; a series is absent until it counts something.
"""

from __future__ import annotations

from typing import ClassVar

from specmeter.upstream_pages.base import Name, Page, Samples, Target
from specmeter.upstream_pages.labelled import (
    PROCESS_START,
    named,
    process_of,
    read_counters,
    sum_up,
)


class TrtllmPage:
    """Reads `trtllm_…`."""

    prefix = "trtllm_"
    remedies: ClassVar = {404: "start TensorRT-LLM with return_perf_metrics: true"}
    needs_listing = False
    shows_speculation = False

    _RUNNING = "trtllm_num_requests_running"
    _COUNTERS: ClassVar = {
        "trtllm_spec_decode_num_draft_tokens_total": Name.DRAFT_TOKENS,
        "trtllm_spec_decode_num_accepted_tokens_total": Name.ACCEPTED_TOKENS,
        "trtllm_spec_decode_accepted_tokens_total": Name.ACCEPTED_PER_POSITION,
        "trtllm_spec_decode_drafted_tokens_total": Name.DRAFTED_PER_POSITION,
        "trtllm_generation_tokens_total": Name.GENERATED_TOKENS,
        "trtllm_prompt_tokens_total": Name.PROMPT_TOKENS,
    }
    names = frozenset((*_COUNTERS, _RUNNING, PROCESS_START))

    def targets(self, listing: bytes) -> tuple[Target, ...]:  # noqa: ARG002 - one page for all
        """Return the one page."""
        return (Target("/prometheus/metrics"),)

    def read(self, samples: Samples) -> Page:
        """Read the page."""
        return Page(
            counters=read_counters(samples, self._COUNTERS, position_label="token_position"),
            running=sum_up(named(samples, self._RUNNING)),
            process=process_of(samples),
            left_out=samples.left_out,
        )
