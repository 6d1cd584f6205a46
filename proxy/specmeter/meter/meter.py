"""Adds completions up in Prometheus families."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram

from specmeter.meter import families
from specmeter.meter.completion import Completion
from specmeter.meter.families import Family
from specmeter.reading import MIN_DECODE_TOKENS, Inconsistency, Reading, Speculation
from specmeter.transcript import Unread

NO_BASELINE = "none"

EXPECTED_CODES = (200, 400, 401, 404, 429, 499, 500, 502, 503, 504)
"""Statuses whose series exist from the start, so that the first one is seen by `rate()`."""

EXPECTED_ENDPOINTS = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages")


class Meter:
    """The counters and histograms of completions and requests.

    Args:
        registry: Where the families are registered.
        position_limit: How many values of `position` there may be.
    """

    def __init__(self, registry: CollectorRegistry, position_limit: int) -> None:
        self._position_limit = position_limit
        self._requests = _counter(families.REQUESTS, registry)
        self._completions = _counter(families.COMPLETIONS, registry)
        self._client_left = _counter(families.CLIENT_LEFT, registry)
        self._failures = _counter(families.UPSTREAM_FAILURES, registry)
        self._unread = _counter(families.UNREAD, registry)
        self._inconsistent = _counter(families.INCONSISTENT, registry)
        self._per_position = _counter(families.ACCEPTED_PER_POSITION, registry)
        self._overhead = _histogram(families.OVERHEAD, registry)
        self._of_model = _ModelFamilies(registry)
        self._children: dict[tuple[str, str], _ModelChildren] = {}

    def expect_upstream(self, upstream: str, reasons: Iterable[str]) -> None:
        """Create the series of an upstream.

        Args:
            upstream: Its name.
            reasons: Why it may fail.
        """
        for endpoint in EXPECTED_ENDPOINTS:
            self._client_left.labels(upstream, endpoint)
            for code in EXPECTED_CODES:
                self._requests.labels(upstream, endpoint, str(code))
        for reason in reasons:
            self._failures.labels(upstream, reason)
        for unread in Unread:
            self._unread.labels(upstream, unread)
        for inconsistency in Inconsistency:
            self._inconsistent.labels(upstream, inconsistency)
        self._overhead.labels(upstream)

    def expect_model(self, upstream: str, model_name: str) -> None:
        """Create the series of a model."""
        self._child(upstream, model_name)
        for state in Speculation:
            self._completions.labels(upstream, model_name, state)

    def count_request(self, upstream: str, endpoint: str, code: int) -> None:
        """Count a request by the status that its client got."""
        self._requests.labels(upstream, endpoint, str(code)).inc()

    def count_client_left(self, upstream: str, endpoint: str) -> None:
        """Count a client that left before its answer was complete."""
        self._client_left.labels(upstream, endpoint).inc()

    def count_failure(self, upstream: str, reason: str) -> None:
        """Count a request that the upstream failed."""
        self._failures.labels(upstream, reason).inc()

    def count_unread(self, upstream: str, reason: Unread) -> None:
        """Count an answer that could not be read, or only in part."""
        self._unread.labels(upstream, reason).inc()

    def observe_overhead(self, upstream: str, seconds: float) -> None:
        """Add what the proxy itself took before the first byte."""
        self._overhead.labels(upstream).observe(seconds)

    def count(self, completion: Completion) -> None:
        """Add a completion."""
        reading, upstream, model = completion.reading, completion.upstream, completion.model_name
        self._completions.labels(upstream, model, reading.speculation).inc()
        for inconsistency in reading.inconsistencies:
            self._inconsistent.labels(upstream, inconsistency).inc()
        child = self._child(upstream, model)
        child.add(reading)
        child.duration.observe(completion.duration)
        if completion.time_to_first_token is not None:
            child.first_token.observe(completion.time_to_first_token)
        positions = reading.accepted_per_position or ()
        for position, accepted in enumerate(positions[: self._position_limit]):
            self._per_position.labels(upstream, model, str(position)).inc(accepted)

    def _child(self, upstream: str, model_name: str) -> _ModelChildren:
        key = (upstream, model_name)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = _ModelChildren(self._of_model, *key)
        return child


class _ModelFamilies:
    """The families that have a child for each model."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.prompt = _counter(families.PROMPT_TOKENS, registry)
        self.cached_prompt = _counter(families.CACHED_PROMPT_TOKENS, registry)
        self.generated = _counter(families.GENERATED_TOKENS, registry)
        self.steps = _counter(families.TARGET_STEPS, registry)
        self.step_tokens = _counter(families.TARGET_STEP_TOKENS, registry)
        self.drafts = _counter(families.DRAFTS, registry)
        self.drafted = _counter(families.DRAFT_TOKENS, registry)
        self.accepted = _counter(families.ACCEPTED_TOKENS, registry)
        self.decode_seconds = _counter(families.DECODE_SECONDS, registry)
        self.decode_tokens = _counter(families.DECODE_TOKENS, registry)
        self.first_token = _histogram(families.FIRST_TOKEN, registry)
        self.per_token = _histogram(families.PER_TOKEN, registry)
        self.duration = _histogram(families.DURATION, registry)
        self.acceptance = _histogram(families.REQUEST_ACCEPTANCE, registry)
        self.per_step = _histogram(families.REQUEST_PER_STEP, registry)


class _ModelChildren:
    """One model's series; looked up once, because looking up costs more than counting."""

    def __init__(self, of: _ModelFamilies, upstream: str, model_name: str) -> None:
        names = (upstream, model_name)
        self.prompt = of.prompt.labels(*names)
        self.cached_prompt = of.cached_prompt.labels(*names)
        self.generated = of.generated.labels(*names)
        self.steps = of.steps.labels(*names)
        self.step_tokens = of.step_tokens.labels(*names)
        self.drafted = of.drafted.labels(*names)
        self.accepted = of.accepted.labels(*names)
        self.decode_seconds = of.decode_seconds.labels(*names, NO_BASELINE)
        self.decode_tokens = of.decode_tokens.labels(*names, NO_BASELINE)
        self.first_token = of.first_token.labels(*names)
        self.per_token = of.per_token.labels(*names)
        self.duration = of.duration.labels(*names)
        self.acceptance = of.acceptance.labels(*names)
        self.per_step = of.per_step.labels(*names)
        # Absent, not 0, until a server reports its rounds.
        self._drafts_family, self._names = of.drafts, names

    def add(self, reading: Reading) -> None:
        """Add one reading; what is unknown adds nothing."""
        _add(self.prompt, reading.prompt)
        _add(self.cached_prompt, reading.cached_prompt)
        _add(self.generated, reading.generated)
        _add(self.drafted, reading.drafted)
        _add(self.accepted, reading.accepted)
        if reading.target_steps is not None:
            self.steps.inc(reading.target_steps)
            _add(self.step_tokens, reading.generated)
        if reading.rounds is not None:
            self._drafts_family.labels(*self._names).inc(reading.rounds)
        if reading.acceptance is not None:
            self.acceptance.observe(reading.acceptance)
        if reading.output_per_step is not None:
            self.per_step.observe(reading.output_per_step)
        if (reading.generated or 0) >= MIN_DECODE_TOKENS and reading.seconds_per_token is not None:
            self.per_token.observe(reading.seconds_per_token)
            _add(self.decode_seconds, reading.decode_seconds)
            _add(self.decode_tokens, reading.decoded)


def _add(counter: Counter, amount: float | None) -> None:
    if amount:
        counter.inc(amount)


def _counter(family: Family, registry: CollectorRegistry) -> Counter:
    return Counter(family.full_name, family.meaning, family.labels, registry=registry)


def _histogram(family: Family, registry: CollectorRegistry) -> Histogram:
    options: dict[str, Any] = {"buckets": family.buckets, "registry": registry}
    return Histogram(family.full_name, family.meaning, family.labels, **options)
