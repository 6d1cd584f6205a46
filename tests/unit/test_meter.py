"""From readings to the page that Prometheus scrapes."""

from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from specmeter.meter import families
from specmeter.meter.completion import Completion
from specmeter.meter.meter import Meter
from specmeter.meter.plain_meter import PlainMeter
from specmeter.meter.scraped import ScrapedCollector
from specmeter.meter.series import Counter
from specmeter.meter.speedup_state import SpeedupCollector
from specmeter.meter.state import StateCollector
from specmeter.reading import RawNumbers, Reading, Speculation, check
from specmeter.speedup.estimator import Estimator
from specmeter.unread import Unread
from specmeter.upstream.drafting import Drafting, DraftingWatch

MODEL = {"upstream": "u", "model_name": "m"}


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def meter(registry: CollectorRegistry) -> Meter:
    meter = Meter(registry, position_limit=3)
    meter.expect_model("u", "m")
    return meter


def completion(**raw: Any) -> Completion:
    return Completion(
        upstream="u",
        endpoint="/v1/chat/completions",
        model_name="m",
        reading=check(RawNumbers(**raw)),
        streamed=True,
        time_to_first_token=0.3,
        duration=2.0,
        finished_at=0.0,
    )


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(f"specmeter_{name}", {**MODEL, **labels})


def test_a_drafted_completion(meter: Meter, registry: CollectorRegistry) -> None:
    """Every counter takes its own number."""
    meter.count(
        completion(
            generated=129,
            prompt=41,
            cached_prompt=30,
            drafted=192,
            accepted=64,
            rounds=64,
            accepted_per_position=[40, 17, 7],
            decode_milliseconds=1600.0,
        )
    )
    expected = {
        "prompt_tokens_total": 41,
        "cached_prompt_tokens_total": 30,
        "generated_tokens_total": 129,
        "target_steps_total": 65,
        "target_step_tokens_total": 129,
        "spec_decode_num_drafts_total": 64,
        "spec_decode_num_drafts_accepted_tokens_total": 64,
        "spec_decode_num_draft_tokens_total": 192,
        "spec_decode_num_accepted_tokens_total": 64,
        "time_to_first_token_seconds_sum": 0.3,
        "request_duration_seconds_sum": 2.0,
        "time_per_output_token_seconds_sum": 0.0125,
        "request_acceptance_ratio_sum": 64 / 192,
        "request_output_per_step_sum": 129 / 65,
    }
    assert {name: value(registry, name) for name in expected} == pytest.approx(expected)
    assert value(registry, "completions_total", speculation="drafted", source="response") == 1
    assert value(registry, "decode_seconds_total", baseline="none") == 1.6
    assert value(registry, "decode_tokens_total", baseline="none") == 128
    per_position = "spec_decode_num_accepted_tokens_per_pos_total"
    assert [value(registry, per_position, position=str(i)) for i in range(3)] == [40, 17, 7]


def test_a_shared_prompt_counts_once(meter: Meter, registry: CollectorRegistry) -> None:
    """Two outputs of one request had one prompt."""
    for shares in (False, True):
        meter.count(completion(generated=8, prompt=41, cached_prompt=30, shares_prompt=shares))
    assert value(registry, "generated_tokens_total") == 16
    assert value(registry, "prompt_tokens_total") == 41
    assert value(registry, "cached_prompt_tokens_total") == 30


def test_unknown_is_absent(meter: Meter, registry: CollectorRegistry) -> None:
    """A completion that does not report adds tokens, and nothing to steps, drafts or ratios."""
    meter.count(completion(generated=24, prompt=32))
    assert value(registry, "completions_total", speculation="not_reported", source="response") == 1
    assert value(registry, "generated_tokens_total") == 24
    assert value(registry, "target_steps_total") == 0
    assert value(registry, "target_step_tokens_total") == 0
    assert value(registry, "request_output_per_step_count") == 0
    assert value(registry, "request_acceptance_ratio_count") == 0
    assert value(registry, "spec_decode_num_drafts_total") is None


def test_acceptance_length_is_of_completions_that_report_rounds(
    meter: Meter, registry: CollectorRegistry
) -> None:
    """Accepted tokens of another completion would make each of the rounds look longer."""
    meter.count(completion(generated=20, drafted=16, accepted=12, rounds=4))
    meter.count(completion(generated=90, drafted=99, accepted=80))
    assert value(registry, "spec_decode_num_accepted_tokens_total") == 92
    assert value(registry, "spec_decode_num_drafts_total") == 4
    assert value(registry, "spec_decode_num_drafts_accepted_tokens_total") == 12


def test_nothing_drafted_has_steps_but_no_acceptance(
    meter: Meter, registry: CollectorRegistry
) -> None:
    """A plain completion takes a step a token, and its acceptance is not 0."""
    meter.count(completion(generated=24, drafted=0, accepted=0))
    assert value(registry, "completions_total", speculation="not_drafted", source="response") == 1
    assert value(registry, "target_steps_total") == 24
    assert value(registry, "request_acceptance_ratio_count") == 0


@pytest.mark.parametrize(("generated", "counted"), [(7, 0), (8, 7)])
def test_short_completions_are_not_timed(
    meter: Meter, registry: CollectorRegistry, generated: int, counted: int
) -> None:
    """Below 8 tokens a time says more about the clock."""
    meter.count(completion(generated=generated, decode_milliseconds=100))
    assert value(registry, "decode_tokens_total", baseline="none") == counted


def test_positions_are_bounded(meter: Meter, registry: CollectorRegistry) -> None:
    """No server can mint series by drafting far ahead."""
    meter.count(completion(generated=99, drafted=64, accepted=20, accepted_per_position=[2] * 10))
    per_position = "spec_decode_num_accepted_tokens_per_pos_total"
    assert value(registry, per_position, position="2") == 2
    assert value(registry, per_position, position="3") is None


@pytest.mark.parametrize(("drafted", "accepted"), [(3, None), (None, 3), (None, None)])
def test_positions_need_what_they_are_a_part_of(
    meter: Meter, registry: CollectorRegistry, drafted: int | None, accepted: int | None
) -> None:
    """Without drafted and accepted tokens there is nothing that positions could be a share of."""
    reading = Reading(generated=9, drafted=drafted, accepted=accepted, accepted_per_position=(2, 1))
    meter.count(msgspec.structs.replace(completion(), reading=reading))
    per_position = "spec_decode_num_accepted_tokens_per_pos_total"
    assert value(registry, per_position, position="0") is None


def test_inconsistent_numbers_are_counted_by_reason(
    meter: Meter, registry: CollectorRegistry
) -> None:
    """They leave a trace, and nothing else."""
    meter.count(completion(generated=-5, drafted=4, accepted=9))
    for reason in ("negative", "accepted_exceeds_drafted"):
        labels = {"upstream": "u", "reason": reason}
        name = "specmeter_inconsistent_completions_total"
        assert registry.get_sample_value(name, labels) == 1
    assert value(registry, "generated_tokens_total") == 0


def test_series_are_there_before_the_first_event(meter: Meter, registry: CollectorRegistry) -> None:
    """`rate()` sees a first increment only if there was a 0 before it."""
    meter.expect_upstream("u", ["cannot_connect"])
    assert value(registry, "completions_total", speculation="drafted", source="response") == 0
    assert value(registry, "spec_decode_num_draft_tokens_total") == 0
    labels = {"upstream": "u", "endpoint": "/v1/chat/completions", "code": "502"}
    assert registry.get_sample_value("specmeter_requests_total", labels) == 0
    labels = {"upstream": "u", "reason": Unread.NOT_JSON.value}
    assert registry.get_sample_value("specmeter_unread_completions_total", labels) == 0
    labels = {"upstream": "u", "reason": "cannot_connect"}
    assert registry.get_sample_value("specmeter_upstream_failures_total", labels) == 0


class Up:
    def __init__(self, up: bool | None, kind: str, build: str) -> None:
        self.drafting = DraftingWatch()
        self.last_drafted: dict[str, float] = {}
        self.name, self.up, self.kind, self.build = "u", up, kind, build
        self.method = "ngram-mod"


def test_state_is_what_it_is_at_the_scrape(registry: CollectorRegistry) -> None:
    """Before an upstream was asked there is no series; a new build replaces the old one's."""
    upstream = Up(None, "", "")
    registry.register(StateCollector([upstream]))
    assert registry.get_sample_value("specmeter_upstream_up", {"upstream": "u"}) is None
    upstream.up, upstream.kind, upstream.build = True, "llama_cpp", "b1-a"
    assert registry.get_sample_value("specmeter_upstream_up", {"upstream": "u"}) == 1
    upstream.build = "b2-b"
    page = generate_latest(registry).decode()
    assert 'build="b2-b"' in page
    assert "b1-a" not in page


def test_the_state_of_speculation(registry: CollectorRegistry) -> None:
    """One state is 1, the others are 0; when something was drafted is a moment, not an age."""
    upstream = Up(True, "llama_cpp", "")
    upstream.drafting.configured = True
    upstream.drafting.saw(Speculation.NOT_DRAFTED)
    upstream.last_drafted["m"] = 1000.0
    registry.register(StateCollector([upstream]))
    states = {
        state: registry.get_sample_value(
            "specmeter_upstream_speculation", {"upstream": "u", "state": state}
        )
        for state in Drafting
    }
    assert states == {**dict.fromkeys(Drafting, 0), Drafting.NO_CANDIDATE: 1}
    assert value(registry, "last_drafted_timestamp_seconds") == 1000.0


def test_the_page_has_the_families_that_are_listed(
    meter: Meter, registry: CollectorRegistry
) -> None:
    """Names, types and meanings of the list and of the page are the same, both ways."""
    registry.register(StateCollector([Up(True, "vllm", "")]))
    registry.register(ScrapedCollector([], position_limit=3))
    registry.register(Counter(families.UPSTREAM_SCRAPE_FAILURES))
    registry.register(Counter(families.WORKER_RESTARTS))
    registry.register(SpeedupCollector(Estimator(), {}, lambda: 0.0))
    PlainMeter(registry)
    meter.count(completion(generated=9, drafted=4, accepted=2, rounds=2))
    page = generate_latest(registry).decode()
    shown = {
        family.name: (family.type, family.documentation)
        for family in text_string_to_metric_families(page)
    }
    listed = {
        family.full_name.removesuffix("_total"): (family.kind, family.meaning)
        for family in families.FAMILIES
    }
    assert shown == listed


def test_histograms_have_rising_buckets() -> None:
    """Each histogram has its own, and no other family has any."""
    for family in families.FAMILIES:
        assert (family.kind == "histogram") == bool(family.buckets)
        assert list(family.buckets) == sorted(set(family.buckets))
