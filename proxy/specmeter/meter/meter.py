"""Adds requests and completions up."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry

from specmeter.meter import families
from specmeter.meter.completion import Completion, Source
from specmeter.meter.decode_time import DecodeTime
from specmeter.meter.series import Labels, counter_in, histogram_in
from specmeter.meter.slices import Slices
from specmeter.reading import Inconsistency, Reading, Speculation
from specmeter.transcript import Unread

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
        self._prompt = counter_in(registry, families.PROMPT_TOKENS)
        self._cached_prompt = counter_in(registry, families.CACHED_PROMPT_TOKENS)
        self._generated = counter_in(registry, families.GENERATED_TOKENS)
        self._steps = counter_in(registry, families.TARGET_STEPS)
        self._step_tokens = counter_in(registry, families.TARGET_STEP_TOKENS)
        self._drafts = counter_in(registry, families.DRAFTS)
        self._drafts_accepted = counter_in(registry, families.ROUND_ACCEPTED_TOKENS)
        self._drafted = counter_in(registry, families.DRAFT_TOKENS)
        self._accepted = counter_in(registry, families.ACCEPTED_TOKENS)
        self._per_position = counter_in(registry, families.ACCEPTED_PER_POSITION)
        self._decode_time = DecodeTime(registry)
        self._slices = Slices(registry)
        self._first_token = histogram_in(registry, families.FIRST_TOKEN)
        self._duration = histogram_in(registry, families.DURATION)
        self._acceptance = histogram_in(registry, families.REQUEST_ACCEPTANCE)
        self._per_step = histogram_in(registry, families.REQUEST_PER_STEP)
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
        for counter in (
            *(self._prompt, self._cached_prompt, self._generated, self._steps),
            *(self._step_tokens, self._drafted, self._accepted),
        ):
            counter.add(model, 0)
        for histogram in (self._first_token, self._duration, self._acceptance, self._per_step):
            histogram.expect(model)
        self._decode_time.expect_model(model)

    def expect_baseline(self, upstream: str, model_name: str, baseline: str) -> None:
        """Create the series of a model whose baseline is known from the start."""
        self._decode_time.expect_baseline((upstream, model_name), baseline)

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
        self._completions.add((*model, reading.speculation, completion.source))
        for inconsistency in reading.inconsistencies:
            self._inconsistent.add((completion.upstream, inconsistency))
        if completion.duration is not None:
            self._duration.observe(model, completion.duration)
        if completion.time_to_first_token is not None:
            self._first_token.observe(model, completion.time_to_first_token)
        self._count_tokens(model, reading)
        self._count_drafting(model, reading)
        self._decode_time.count(model, completion)
        self._slices.count(model, completion)

    def _count_tokens(self, model: Labels, reading: Reading) -> None:
        if reading.prompt is not None and not reading.shares_prompt:
            self._prompt.add(model, reading.prompt)
        if reading.cached_prompt is not None and not reading.shares_prompt:
            self._cached_prompt.add(model, reading.cached_prompt)
        if reading.generated is not None:
            self._generated.add(model, reading.generated)
        steps = reading.target_steps
        if steps is not None and reading.generated is not None:
            self._steps.add(model, steps)
            self._step_tokens.add(model, reading.generated)
            self._per_step.observe(model, reading.generated / steps)

    def _count_drafting(self, model: Labels, reading: Reading) -> None:
        if reading.drafted is None or reading.accepted is None:
            return
        self._drafted.add(model, reading.drafted)
        self._accepted.add(model, reading.accepted)
        if reading.acceptance is not None:
            self._acceptance.observe(model, reading.acceptance)
        if reading.rounds is not None:
            self._drafts.add(model, reading.rounds)
            self._drafts_accepted.add(model, reading.accepted)
        positions = reading.accepted_per_position or ()
        for position, accepted in enumerate(positions[: self._position_limit]):
            self._per_position.add((*model, str(position)), accepted)
