"""Samples become medians, ratios and warnings."""

import pytest

from tests.benchmarks.meter import Measured
from tests.benchmarks.report import verdicts
from tests.benchmarks.sample import Plan, Sample
from tests.benchmarks.summary import Summary


def sample(way: str, repeat: int, cpu: float, **changes: float) -> Sample:
    """A sample of 1000 events and requests in a second."""
    found = {"count": 1000, "pieces": 1000, "seconds": 1.0, "foreign_cpu_seconds": 0.0} | changes
    measured = Measured(cpu_seconds=cpu, **found)  # type: ignore[arg-type]
    return Sample(way, repeat, idle=0.01, events=measured, requests=measured)


PLAN = Plan(repeats=3, streams=20, rate=50.0)


def test_idle_time_is_taken_off() -> None:
    """CPU time per event leaves out what the proxy uses without load."""
    assert sample("nginx", 0, 0.03).microseconds("events") == pytest.approx(20)


def test_ratio_compares_within_a_repeat() -> None:
    """Each repeat is compared with nginx in the same repeat, then the median is taken."""
    times = [(0.02, 0.03), (0.03, 0.05), (0.05, 0.21)]  # of nginx, of specmeter
    samples = [sample("nginx", i, nginx) for i, (nginx, _) in enumerate(times)]
    samples += [sample("specmeter", i, own) for i, (_, own) in enumerate(times)]
    ratio = Summary(PLAN, samples).ratio("specmeter", "requests")
    assert (ratio.low, ratio.median, ratio.high) == pytest.approx((2, 2, 5))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"count": 900, "pieces": 900}, "events came late"),
        ({"pieces": 800}, "several at a time"),
        ({"foreign_cpu_seconds": 0.5}, "0.50 cores were busy"),
    ],
)
def test_faulty_samples_are_flagged(changes: dict[str, float], fault: str) -> None:
    """A sample says when the machine could not keep up or had other things to do."""
    (found,) = sample("nginx", 0, 0.03, **changes).faults(PLAN)
    assert fault in found


def test_faulty_repeats_are_left_out() -> None:
    """Repeats on a busy machine do not count when there are others."""
    samples = [sample("nginx", 0, 0.02, foreign_cpu_seconds=0.5), sample("nginx", 1, 0.03)]
    samples += [sample("specmeter", 0, 0.11), sample("specmeter", 1, 0.05)]
    summary = Summary(PLAN, samples)
    assert summary.repeats == [1]
    assert summary.ratio("specmeter", "events").high == pytest.approx(2)


def test_faulty_repeats_count_when_all_are() -> None:
    """A machine that is always busy still gives a result."""
    samples = [sample("nginx", i, 0.02, foreign_cpu_seconds=0.5) for i in range(3)]
    summary = Summary(PLAN, samples)
    assert summary.repeats == [0, 1, 2]
    assert len(summary.faults()) == 3


def test_good_sample_has_no_faults() -> None:
    """A sample taken at the planned rate on a quiet machine is trusted."""
    assert sample("nginx", 0, 0.03).faults(PLAN) == []


@pytest.mark.parametrize(
    ("cpu", "verdict"),
    [(0.022, "; reached: 1.20"), (0.024, "NOT reached: 1.40")],
)
def test_verdict_names_the_target(cpu: float, verdict: str) -> None:
    """Whether a target is reached is said beside it."""
    samples = [sample("nginx", 0, 0.02), sample("specmeter", 0, cpu)]
    per_event, _ = verdicts(Summary(PLAN, samples))
    assert "at most 1.3 times" in per_event
    assert verdict in per_event
