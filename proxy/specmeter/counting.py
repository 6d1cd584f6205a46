"""Counts completions wherever they count: in the meter, in comparisons, for those who watch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from specmeter.fault import Fault
from specmeter.learning import Learning
from specmeter.meter.completion import Completion
from specmeter.meter.meter import Meter
from specmeter.plain_traffic import PlainTraffic
from specmeter.unread import Unread
from specmeter.upstream.upstreams import Upstream

Observer = Callable[[Completion], None]

Metered = tuple[Upstream, Completion]
"""A completion, and the upstream that it counts for."""

_log = logging.getLogger("specmeter")


class Counting:
    """Takes completions through one step after the other; a fault stops one of them only.

    Args:
        meter: Counts them.
        learning: Compares them with their baselines.
        plain: Learns from held-out ones.
        observers: Get each one after it was counted.
    """

    def __init__(
        self,
        meter: Meter,
        learning: Learning,
        plain: PlainTraffic,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._meter = meter
        self._learning = learning
        self._plain = plain
        self._observers = observers

    def count(self, metered: Iterable[Metered]) -> None:
        """Count completions, in order; one step for all of them, then the next."""
        left = list(metered)
        for upstream, completion in left:
            self._compare(upstream, completion)
        for step in (self._meter.count, *self._observers):
            left = [one for one in left if self._goes_through(step, *one)]

    def failed(self, upstream: Upstream, fault: Fault) -> None:
        """Count a fault of our own, and log it."""
        self._meter.count_unread(upstream.name, Unread.READER_FAILED)
        _log.error("cannot read an answer of %s: %s", upstream.name, fault)

    def _compare(self, upstream: Upstream, completion: Completion) -> None:
        """Compare and learn; a fault in that must not cost the completion its other numbers."""
        try:
            upstream.saw(
                completion.reading.speculation, completion.model_name, completion.finished_at
            )
            self._plain.take(completion, upstream.build)
            self._learning.compare(upstream, completion)
        except Exception as error:  # noqa: BLE001 - whatever it is, the rest counts
            self.failed(upstream, Fault.of(error))

    def _goes_through(self, step: Observer, upstream: Upstream, completion: Completion) -> bool:
        try:
            step(completion)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others count
            self.failed(upstream, Fault.of(error))
            return False
        return True
