"""SGLang's page.

Source: python/sglang/srt/observability/metrics_collector.py. Needs `--enable-metrics`. Drafted and
accepted tokens are not on it: `sglang:spec_accept_rate` and `…_length` are gauges of the last
moment, which nothing can be counted from. `sglang:spec_verify_calls_total` counts the target's runs
that verified a draft, of requests that ended by themselves, and only when they end; as do the
tokens. Traps: with priorities, a gauge's total is the series with `priority=""` and the others are
its parts; with metrics of all schedulers on, the ranks of one replica repeat each other.
"""

from __future__ import annotations

from typing import ClassVar

from specmeter.upstream_pages.base import Name, Page, Sample, Samples, Target
from specmeter.upstream_pages.labelled import (
    PROCESS_START,
    named,
    process_of,
    read_counters,
    sum_up,
)

_RANKS = ("tp_rank", "pp_rank", "moe_ep_rank")
"""Labels of those that work on the same requests together, unlike `dp_rank`."""


class SglangPage:
    """Reads `sglang:…`."""

    prefix = "sglang:"
    remedies: ClassVar = {404: "start SGLang with --enable-metrics"}
    needs_listing = False
    shows_speculation = False

    _RUNNING = "sglang:num_running_reqs"
    _COUNTERS: ClassVar = {
        "sglang:spec_verify_calls_total": Name.VERIFY_CALLS,
        "sglang:generation_tokens_total": Name.GENERATED_TOKENS,
        "sglang:prompt_tokens_total": Name.PROMPT_TOKENS,
    }
    names = frozenset((*_COUNTERS, _RUNNING, PROCESS_START))

    def targets(self, listing: bytes) -> tuple[Target, ...]:  # noqa: ARG002 - one page for all
        """Return the one page."""
        return (Target("/metrics"),)

    def read(self, samples: Samples) -> Page:
        """Read the page."""
        return Page(
            counters=read_counters(samples, self._COUNTERS),
            running=sum_up(_once_a_replica(named(samples, self._RUNNING))),
            process=process_of(samples),
            left_out=samples.left_out,
        )


def _once_a_replica(samples: list[Sample]) -> list[Sample]:
    largest: dict[frozenset[tuple[str, str]], Sample] = {}
    for sample in samples:
        if sample.labels.get("priority"):
            continue
        replica = frozenset(item for item in sample.labels.items() if item[0] not in _RANKS)
        if replica not in largest or sample.value > largest[replica].value:
            largest[replica] = sample
    return list(largest.values())
