"""Adds requests and completions up."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry

from specmeter.meter import families
from specmeter.meter.completion import Completion, Source
from specmeter.meter.series import Labels, counter_in, histogram_in
from specmeter.meter.totals import NO_BASELINE, Totals
from specmeter.reading import Inconsistency, Speculation
from specmeter.unread import Unread

EXPECTED_CODES = (200, 400, 401, 404, 429, 499, 500, 502, 503, 504)
"""Statuses whose series exist from the start, so that the first one is seen by `rate()`."""

EXPECTED_ENDPOINTS = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages")


class Meter:
    """The counters and histograms of requests and completions.

    Args:
        registry: Where the families are registered.
        position_limit: How many values of `position` there may be.
    """

    def __init__(self, registry: CollectorRegistry, position_limit: int) -> None:
        self._position_limit = position_limit
        self._requests = counter_in(registry, families.REQUESTS)
        self._completions = counter_in(registry, families.COMPLETIONS)
        self._client_left = counter_in(registry, families.CLIENT_LEFT)
        self._failures = counter_in(registry, families.UPSTREAM_FAILURES)
        self._per_position = counter_in(registry, families.ACCEPTED_PER_POSITION)
        registry.register(totals := Totals())
        self._totals = totals
        self._first_token = histogram_in(registry, families.FIRST_TOKEN)
        self._duration = histogram_in(registry, families.DURATION)
        self._acceptance = histogram_in(registry, families.REQUEST_ACCEPTANCE)
        self._per_step = histogram_in(registry, families.REQUEST_PER_STEP)
        self._per_token = histogram_in(registry, families.PER_TOKEN)
        self._speedup = histogram_in(registry, families.REQUEST_SPEEDUP)
        self._overhead = histogram_in(registry, families.OVERHEAD)
        self._unread = counter_in(registry, families.UNREAD)
        self._inconsistent = counter_in(registry, families.INCONSISTENT)

    def expect_upstream(self, upstream: str, reasons: Iterable[str]) -> None:
        """Create the series of an upstream, with the reasons for which it may fail."""
        for endpoint in EXPECTED_ENDPOINTS:
            self._client_left.add((upstream, endpoint), 0)
            for code in EXPECTED_CODES:
                self._requests.add((upstream, endpoint, str(code)), 0)
        for reason in reasons:
            self._failures.add((upstream, reason), 0)
        for unread in Unread:
            self._unread.add((upstream, unread), 0)
        for inconsistency in Inconsistency:
            self._inconsistent.add((upstream, inconsistency), 0)
        self._overhead.expect((upstream,))

    def expect_model(self, upstream: str, model_name: str) -> None:
        """Create the series of a model; those of rounds come once a server reports them."""
        model = (upstream, model_name)
        for state in Speculation:
            self._completions.add((*model, state, Source.RESPONSE), 0)
        self._totals.expect(model, NO_BASELINE)
        for histogram in (
            *(self._first_token, self._duration, self._per_token),
            *(self._acceptance, self._per_step),
        ):
            histogram.expect(model)

    def expect_baseline(self, upstream: str, model_name: str, baseline: str) -> None:
        """Create the series of a model whose baseline is known from the start."""
        self._totals.expect((upstream, model_name), baseline)

    def count_request(self, upstream: str, endpoint: str, code: int) -> None:
        """Count a request by the status that its client got."""
        self._requests.add((upstream, endpoint, str(code)))

    def count_client_left(self, upstream: str, endpoint: str) -> None:
        """Count a client that left before its answer was complete."""
        self._client_left.add((upstream, endpoint))

    def count_failure(self, upstream: str, reason: str) -> None:
        """Count a request that the upstream failed."""
        self._failures.add((upstream, reason))

    def count_unread(self, upstream: str, reason: Unread) -> None:
        """Count an answer that could not be read, or only in part."""
        self._unread.add((upstream, reason))

    def observe_overhead(self, upstream: str, seconds: float) -> None:
        """Add what the proxy itself took before the first byte."""
        self._overhead.observe((upstream,), seconds)

    def count(self, completion: Completion) -> None:
        """Add a completion; what is unknown adds nothing."""
        reading = completion.reading
        model = (completion.upstream, completion.model_name)
        self._completions.add(
            (completion.upstream, completion.model_name, reading.speculation, completion.source)
        )
        for inconsistency in reading.inconsistencies:
            self._inconsistent.add((completion.upstream, inconsistency))
        if reading.drafted is not None and reading.accepted is not None:
            positions = reading.accepted_per_position or ()
            for position, accepted in enumerate(positions[: self._position_limit]):
                self._per_position.add((*model, str(position)), accepted)
        self._totals.count(model, completion)
        self._observe(model, completion)

    def _observe(self, model: Labels, completion: Completion) -> None:
        """Add what the completion alone comes to."""
        reading = completion.reading
        if (duration := completion.duration) is not None:
            self._duration.observe(model, duration)
        if (first := completion.time_to_first_token) is not None:
            self._first_token.observe(model, first)
        if (acceptance := reading.acceptance) is not None:
            self._acceptance.observe(model, acceptance)
        if (per_step := reading.output_per_step) is not None:
            self._per_step.observe(model, per_step)
        if (timed := reading.timed) is None:
            return
        tokens, seconds = timed
        self._per_token.observe(model, seconds / tokens)
        if (estimate := completion.estimate) is not None:
            self._speedup.observe(model, estimate.ratio)
