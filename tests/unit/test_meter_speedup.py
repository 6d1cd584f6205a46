"""Completions that have a baseline, on the page that Prometheus scrapes."""

import math

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from specmeter.meter.completion import Completion
from specmeter.meter.meter import Meter
from specmeter.meter.speedup_state import SpeedupCollector
from specmeter.reading import RawNumbers, check
from specmeter.speedup.baseline import Origin
from specmeter.speedup.estimator import Estimator
from specmeter.speedup.fixed import BLIND_ERROR
from specmeter.speedup.interval import Sums, speedup
from specmeter.speedup.table import Point, Table

MODEL = {"upstream": "u", "model_name": "m"}
SUMS = (
    *("decode_seconds_total", "plain_decode_seconds_total", "decode_seconds_squared_total"),
    *("plain_decode_seconds_squared_total", "decode_seconds_cross_total"),
    "plain_decode_doubt_seconds_total",
)


def completion(seconds: float = 2.0, drafted: int | None = 60, at: float = 0.0) -> Completion:
    """1000 prompt tokens, 101 generated, 40 of them drafted; three requests at the same time."""
    raw = RawNumbers(
        generated=101,
        prompt=1000,
        drafted=drafted,
        accepted=None if drafted is None else min(drafted, 40),
        decode_milliseconds=seconds * 1000,
    )
    return Completion(
        upstream="u",
        endpoint="/v1/chat/completions",
        model_name="m",
        reading=check(raw),
        streamed=True,
        time_to_first_token=0.3,
        duration=3.0,
        finished_at=at,
        in_flight=3,
    )


class Replica:
    """A meter with an estimator of its own, as each process has one."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.meter = Meter(self.registry, position_limit=3)
        self.meter.expect_model("u", "m")
        self.estimator = Estimator()

    def take(self, one: Completion) -> None:
        estimate = self.estimator.take(one)
        self.meter.count(msgspec.structs.replace(one, estimate=estimate))

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"specmeter_{name}", {**MODEL, **labels})

    def sums(self) -> Sums:
        spent, plain, spent2, plain2, cross, doubt = (
            self.value(name, baseline="fixed") or math.nan for name in SUMS
        )
        count = self.value("request_speedup_ratio_count") or math.nan
        return Sums(int(count), spent, plain, spent2, plain2, cross, doubt)


@pytest.fixture
def replica() -> Replica:
    return Replica()


def test_a_comparison_adds_to_the_sums_of_its_baseline(replica: Replica) -> None:
    """100 tokens after the first: 2.5 s at 25 ms each, where they took 2.0; off by 10 %."""
    replica.estimator.give_number("u", 0.025, 0.0, 0.1)
    replica.take(completion())
    replica.take(completion(4.0))
    values = [replica.value(name, baseline="fixed") for name in SUMS]
    doubt = 5.0 * math.hypot(0.1, BLIND_ERROR)
    assert values == pytest.approx([6.0, 5.0, 20.0, 12.5, 15.0, doubt])
    assert replica.value("decode_tokens_total", baseline="fixed") == 200
    assert replica.value("decode_seconds_total", baseline="none") == 0
    assert replica.value("request_speedup_ratio_sum") == pytest.approx(1.25 + 0.625)


@pytest.mark.parametrize(
    ("generated", "milliseconds", "counted"),
    [(8, 100.0, 1), (7, 100.0, None), (8, None, None), (8, 0.0, None), (1, 100.0, None)],
)
def test_the_histogram_takes_what_the_sums_take(
    replica: Replica, generated: int, milliseconds: float | None, counted: int | None
) -> None:
    """An estimate of what is too short or was not timed is in neither of them."""
    replica.estimator.give_number("u", 0.025, 0.0, 0.1)
    estimate = replica.estimator.take(completion())
    reading = check(RawNumbers(generated=generated, decode_milliseconds=milliseconds))
    one = msgspec.structs.replace(completion(), reading=reading, estimate=estimate)
    replica.meter.count(one)
    assert replica.value("request_speedup_ratio_count") == counted
    assert bool(replica.value("plain_decode_seconds_total", baseline="fixed")) is bool(counted)


def test_without_a_baseline_there_is_no_speedup_at_all(replica: Replica) -> None:
    """Seconds and tokens count, and no series of a comparison exists."""
    replica.take(completion())
    assert replica.value("decode_seconds_total", baseline="none") == 2.0
    names = {
        sample.name.removeprefix("specmeter_")
        for family in replica.registry.collect()
        for sample in family.samples
    }
    assert not [name for name in names if "plain" in name or "speedup" in name or "cross" in name]


def test_three_replicas_add_up_to_one(replica: Replica) -> None:
    """Summed over replicas, the speedup and its interval are those of one that saw it all."""
    replica.estimator.give_number("u", 0.025, 0.0, 0.1)
    replicas = [Replica() for _ in range(3)]
    for one in replicas:
        one.estimator.give_number("u", 0.025, 0.0, 0.1)
    for i in range(90):
        seen = completion(1.5 + 0.07 * (i % 13))
        replica.take(seen)
        replicas[i % 3].take(seen)
    together, alone = (
        speedup(sum((one.sums() for one in replicas), Sums())),
        speedup(replica.sums()),
    )
    assert together is not None
    assert alone is not None
    assert together.ratio == pytest.approx(alone.ratio)
    assert together.interval is not None
    assert alone.interval is not None
    assert together.interval.low == pytest.approx(alone.interval.low)
    assert together.interval.high == pytest.approx(alone.interval.high)


def test_seconds_per_step_are_of_completions_that_report_both(replica: Replica) -> None:
    """101 tokens of which 40 were accepted: 61 runs, one of them the prompt's."""
    replica.take(completion())
    replica.take(completion(drafted=None))
    assert replica.value("timed_steps_total") == 60
    assert replica.value("timed_step_seconds_total") == 2.0


@pytest.mark.parametrize(
    ("slice_", "bucket"), [("context", "512-2k"), ("output", "64-256"), ("in_flight", "3-4")]
)
def test_slices(replica: Replica, slice_: str, bucket: str) -> None:
    """Each completion counts in one bucket of each slice, with all that the panels need."""
    replica.estimator.give_number("u", 0.025, 0.0)
    replica.take(completion())
    place = {"slice": slice_, "bucket": bucket}
    values = {
        name: replica.value(f"slice_{name}_total", **place)
        for name in (
            *("completions", "target_steps", "target_step_tokens"),
            *("spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens"),
        )
    }
    assert list(values.values()) == [1, 61, 101, 60, 40]
    assert replica.value("slice_decode_seconds_total", baseline="fixed", **place) == 2.0
    assert replica.value("slice_decode_tokens_total", baseline="fixed", **place) == 100
    plain = replica.value("slice_plain_decode_seconds_total", baseline="fixed", **place)
    assert plain == pytest.approx(2.5)


def test_an_unknown_place_counts_in_no_slice(replica: Replica) -> None:
    """Without a prompt length there is no context; the other slices count all the same."""
    unknown = check(RawNumbers(generated=101))
    replica.take(msgspec.structs.replace(completion(), reading=unknown, in_flight=None))
    assert replica.value("slice_completions_total", slice="output", bucket="64-256") == 1
    samples = [s for f in replica.registry.collect() for s in f.samples if "slice" in s.labels]
    assert {sample.labels["slice"] for sample in samples} == {"output"}


def test_what_is_known_of_plain_speed(replica: Replica) -> None:
    """By source, context and load: seconds, error, age; and whether it is of another build."""
    points = (Point(100, 1, 0.02, 0.05), Point(8100, 1, 0.04, 0.05))
    replica.estimator.give_table("u", Table(points, 1000.0, "b1"))
    one = completion(at=1000.0)
    replica.estimator.take(one, Origin(build="b2"))
    replica.registry.register(SpeedupCollector(replica.estimator, {"u": 12.8}, lambda: 1000.0))
    place = {"baseline": "measured", "context": "0-512", "in_flight": "1"}
    assert replica.value("baseline_seconds_per_token", **place) == 0.02
    assert replica.value("baseline_relative_error", **place) == pytest.approx(0.05)
    assert replica.value("baseline_updated_timestamp_seconds", **place) == 1000.0
    assert replica.value("baseline_stale", baseline="measured") == 1
    bound = "specmeter_plain_decode_bound_tokens_per_second"
    assert replica.registry.get_sample_value(bound, {"upstream": "u"}) == 12.8


def test_what_a_step_costs(replica: Replica) -> None:
    """40 completions of 30 ms a step and 5 ms a drafted token, plain 20 ms: all as it was made."""
    replica.estimator.give_number("u", 0.02, 0.0, 0.0)
    replica.registry.register(SpeedupCollector(replica.estimator, {}, lambda: 0.0))
    for i in range(40):
        drafted = 40 + 10 * (i % 5)
        replica.take(completion(60 * 0.03 + drafted * 0.005, drafted))
    for name, value in (("step_fixed_seconds", 0.03), ("step_draft_token_seconds", 0.005)):
        assert replica.value(name, bound="estimate") == pytest.approx(value)
        low, high = (replica.value(name, bound=bound) for bound in ("low", "high"))
        assert low is not None
        assert high is not None
        assert low <= value + 1e-9
        assert high >= value - 1e-9
    assert replica.value("break_even_output_per_step", bound="estimate") == pytest.approx(
        (0.03 + 0.005) / 0.02
    )
