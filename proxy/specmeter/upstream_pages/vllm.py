"""vLLM's page.

Source: vllm/v1/spec_decode/metrics.py and v1/metrics/loggers.py. The counters have a series for
each `engine`, those of drafting are absent unless a drafter is configured, and `position` is
complete from the start. Traps: `…_created` series; `…num_draft_tokens_per_pos_total`, which newer
builds have and which is no part of `…num_draft_tokens_total`; block diffusion counts as
`vllm:diffusion_…`, which is not speculation; version 0 lacks the drafts, and its ratios and
`…num_emitted_tokens_total` (the target's own tokens included) say nothing that is needed.
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


class VllmPage:
    """Reads `vllm:…`, of version 0 and 1."""

    prefix = "vllm:"
    remedies: ClassVar = {404: "take --disable-log-stats away if it is given"}
    needs_listing = False
    shows_speculation = True

    _RUNNING = "vllm:num_requests_running"
    _COUNTERS: ClassVar = {
        "vllm:spec_decode_num_drafts_total": Name.DRAFTS,
        "vllm:spec_decode_num_draft_tokens_total": Name.DRAFT_TOKENS,
        "vllm:spec_decode_num_accepted_tokens_total": Name.ACCEPTED_TOKENS,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total": Name.ACCEPTED_PER_POSITION,
        "vllm:spec_decode_num_draft_tokens_per_pos_total": Name.DRAFTED_PER_POSITION,
        "vllm:generation_tokens_total": Name.GENERATED_TOKENS,
        "vllm:prompt_tokens_total": Name.PROMPT_TOKENS,
    }
    names = frozenset((*_COUNTERS, _RUNNING, PROCESS_START))

    def targets(self, listing: bytes) -> tuple[Target, ...]:  # noqa: ARG002 - one page for all
        """Return the one page."""
        return (Target("/metrics"),)

    def read(self, samples: Samples) -> Page:
        """Read the page."""
        return Page(
            counters=read_counters(samples, self._COUNTERS),
            running=sum_up(named(samples, self._RUNNING)),
            process=process_of(samples),
            left_out=samples.left_out,
        )
