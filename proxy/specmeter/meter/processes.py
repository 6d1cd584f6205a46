"""The process's own series, `specmeter_process_…`, as sums over all processes of this proxy."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

_CPU = "specmeter_process_cpu_seconds"
_START = "specmeter_process_start_time_seconds"


class ProcessesCollector(Collector):
    """Adds up what the system tells of each process; the start is the main process's.

    Args:
        others: Returns the processes beside this one that run.
    """

    def __init__(self, others: Callable[[], Iterable[int]]) -> None:
        self._others = others

    def collect(self) -> Iterator[Metric]:
        """Yield the families as they are now."""
        sums = {metric.name: metric for metric in _told_of(os.getpid())}
        for pid in self._others():
            for metric in _told_of(pid):
                if metric.name in sums and metric.name != _START:
                    _add(sums[metric.name], metric.samples[0].value)
        if _CPU in sums:
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            _add(sums[_CPU], ended.ru_utime + ended.ru_stime)
        yield from sums.values()


def _told_of(pid: int) -> Iterable[Metric]:
    return ProcessCollector("specmeter", pid=lambda: pid, registry=None).collect()


def _add(metric: Metric, value: float) -> None:
    sample = metric.samples[0]
    metric.samples[0] = sample._replace(value=sample.value + value)
