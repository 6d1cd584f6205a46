"""Completions become estimates."""

import math
from typing import Any

import pytest

from specmeter.meter.completion import Completion
from specmeter.reading import RawNumbers, check
from specmeter.speedup.baseline import Origin, Sample, Source
from specmeter.speedup.estimate import Estimate
from specmeter.speedup.estimator import Estimator
from specmeter.speedup.fixed import BLIND_ERROR
from specmeter.speedup.interval import Sums, Verdict, speedup
from specmeter.speedup.recent import LATEST
from specmeter.speedup.state import ModelState
from specmeter.speedup.strata import Stratum
from specmeter.speedup.table import Point, Table

MODEL = ("u", "m")
TABLE = Table((Point(100, 1, 0.020, 0.01), Point(8100, 1, 0.040, 0.01)), 0.0)


def completion(
    at: float = 0.0, model_name: str = "m", in_flight: int | None = None, **raw: Any
) -> Completion:
    """100 prompt tokens, 101 generated, 2 s, 50 drafted."""
    numbers = {
        "generated": 101,
        "prompt": 100,
        "drafted": 50,
        "accepted": 25,
        "decode_milliseconds": 2000.0,
    }
    return Completion(
        upstream="u",
        endpoint="/v1/chat/completions",
        model_name=model_name,
        reading=check(RawNumbers(**(numbers | raw))),
        streamed=True,
        time_to_first_token=0.3,
        duration=2.5,
        finished_at=at,
        in_flight=in_flight,
    )


def only(estimator: Estimator, at: float = 0.0) -> ModelState:
    (state,) = estimator.state(at)
    return state


@pytest.fixture
def estimator() -> Estimator:
    made = Estimator()
    made.give_number("u", 0.025, 0.0, 0.1)
    return made


def test_an_estimate(estimator: Estimator) -> None:
    """100 tokens after the first one, 25 ms each: 2.5 s instead of 2.0."""
    found = estimator.take(completion(in_flight=3))
    assert found == Estimate(
        spent=2.0,
        plain=2.5,
        relative_error=math.hypot(0.1, BLIND_ERROR),
        source=Source.FIXED,
        stratum=Stratum("0-512", "3-4"),
        stale=False,
    )
    assert found.ratio == 1.25
    assert found.sums == Sums.of(2.0, found.plain, found.relative_error)


def test_context_is_that_of_mid_generation() -> None:
    """4050 prompt tokens and half of 101 are half-way between 100 and 8100: 30 ms."""
    estimator = Estimator()
    estimator.give_table("u", TABLE)
    found = estimator.take(completion(prompt=4050, in_flight=1))
    assert found is not None
    assert found.plain == pytest.approx(100 * (0.020 + 0.020 * (4050 + 50.5 - 100) / 8000))


@pytest.mark.parametrize(
    "raw",
    [
        {"generated": 7},
        {"generated": None},
        {"decode_milliseconds": None},
        {"decode_milliseconds": 0.0},
    ],
)
def test_completions_that_say_too_little(estimator: Estimator, raw: dict[str, Any]) -> None:
    """Fewer than eight tokens, or no time: no estimate, and none is counted."""
    assert estimator.take(completion(**raw)) is None
    assert estimator.state(0.0) == ()


def test_no_baseline_no_estimate() -> None:
    """Nothing is made up, and the verdict says so."""
    estimator = Estimator()
    assert estimator.take(completion()) is None
    state = only(estimator)
    assert state.verdict is Verdict.NO_BASELINE
    assert state.speedup is None
    assert state.completions == 0
    assert state.baselines == ()


def test_unknown_drafting_is_compared_all_the_same(estimator: Estimator) -> None:
    """Time tells, whether or not the server reports drafts."""
    assert estimator.take(completion(drafted=None, accepted=None)) is not None


def test_completions_without_drafts_become_a_baseline() -> None:
    """Ten of them at 20 ms a token, and the next one with drafts at 40 ms is half as fast."""
    estimator = Estimator()
    for i in range(10):
        estimator.take(completion(60.0 * i, drafted=0, accepted=0))
    found = estimator.take(completion(600.0, decode_milliseconds=4000.0))
    assert found is not None
    assert found.source is Source.UNDRAFTED
    assert found.ratio == pytest.approx(0.5)


def test_what_others_draft_makes_no_baseline_for_a_model() -> None:
    """The draft of one model does not turn on the comparison of another."""
    estimator = Estimator()
    estimator.take(completion(model_name="drafts"))
    for i in range(30):
        assert estimator.take(completion(60.0 * i, drafted=0, accepted=0)) is None


def test_drafted_completions_do_not_become_a_baseline() -> None:
    """However many there are."""
    estimator = Estimator()
    assert all(estimator.take(completion(60.0 * i)) is None for i in range(10))


def test_a_plain_server_tells_the_baseline() -> None:
    """Samples of a holdout are of one model and no other."""
    estimator = Estimator()
    for i in range(10):
        sample = Sample(Stratum("0-512", "1"), 3.0, 100, 60.0 * i)
        estimator.learn_plain(MODEL, Source.HOLDOUT, sample, Origin("b1"))
    found = estimator.take(completion(600.0, in_flight=1), Origin("b1"))
    assert found is not None
    assert found.source is Source.HOLDOUT
    assert found.ratio == pytest.approx(1.5)
    assert estimator.take(completion(600.0, model_name="other", in_flight=1)) is None


def test_given_baselines_serve_all_models_of_an_upstream() -> None:
    """Those that were seen before, and those that come later."""
    estimator = Estimator()
    estimator.take(completion())
    estimator.give_number("u", 0.025, 0.0)
    estimator.give_number("elsewhere", 0.5, 0.0)
    for name in ("m", "new"):
        found = estimator.take(completion(model_name=name))
        assert found is not None
        assert found.plain == pytest.approx(2.5)


def test_a_new_build_is_seen(estimator: Estimator) -> None:
    """The state tells which baselines are of another one."""
    estimator.give_table("u", Table(TABLE.points, 0.0, "b9001-abcdef1"))
    estimator.take(completion(in_flight=1), Origin("b9001-abcdef1"))
    assert [one.stale for one in only(estimator).baselines] == [False, False]
    estimator.take(completion(in_flight=1), Origin("b9002-abcdef1"))
    assert [one.stale for one in only(estimator).baselines] == [True, False]


def test_a_state_tells_everything() -> None:
    """Forty completions a quarter faster than plain, by a number that is 1 % off at most."""
    estimator = Estimator()
    estimator.give_number("u", 0.025, 0.0, 0.005)
    for i in range(40):
        drafted = 10 * (i % 5)
        estimator.take(
            completion(
                drafted=drafted,
                accepted=drafted // 2,
                rounds=drafted // 2,
                accepted_per_position=[drafted // 2] if drafted else None,
            )
        )
    state = only(estimator)
    assert (state.upstream, state.model_name) == MODEL
    assert state.completions == 40
    assert state.verdict is Verdict.FASTER
    assert state.speedup is not None
    assert state.speedup.ratio == pytest.approx(1.25)
    steps = sum(100 - 5 * (i % 5) for i in range(40))
    assert state.seconds_per_step == pytest.approx(80.0 / steps)
    assert state.step_cost is not None
    assert state.step_cost.step_seconds.value == pytest.approx(0.020, rel=0.01)
    assert [one.length for one in state.draft_lengths] == [1]
    fixed, undrafted = state.baselines
    assert fixed.strata[0].seconds_per_token == 0.025
    assert undrafted.source is Source.UNDRAFTED


def test_a_drop_shows_in_the_latest_completions(estimator: Estimator) -> None:
    """A hundred fast ones, then a hundred slow ones: the latter count."""
    for i in range(200):
        estimator.take(completion(decode_milliseconds=2000.0 if i < 100 else 3000.0))
    state = only(estimator)
    assert state.completions == LATEST
    assert state.speedup is not None
    assert state.speedup.ratio == pytest.approx(2.5 / 3.0)


def test_self_drafting_is_slower_within_twenty_requests() -> None:
    """At half the plain speed with 10 % of noise, twenty holdout samples and requests suffice."""
    estimator = Estimator()
    for i in range(20):
        noise = 1 + 0.1 * (-1) ** i
        sample = Sample(Stratum("0-512", "1"), 1.0 * noise, 100, 60.0 * i)
        estimator.learn_plain(MODEL, Source.HOLDOUT, sample, Origin())
        estimator.take(completion(60.0 * i, decode_milliseconds=2000.0 * noise, in_flight=1))
    assert only(estimator, 1200.0).verdict is Verdict.SLOWER


def test_three_replicas_add_up_to_one() -> None:
    """With the same table, sums of three proxies give the speedup of one that saw everything."""
    one, three = Estimator(), [Estimator() for _ in range(3)]
    for estimator in (one, *three):
        estimator.give_table("u", TABLE)
    whole, parts = Sums(), Sums()
    for i in range(150):
        seen = completion(
            float(i), in_flight=1, prompt=100 + 37 * i, decode_milliseconds=1500.0 + 70 * (i % 13)
        )
        a, b = one.take(seen), three[i % 3].take(seen)
        assert a is not None
        assert b is not None
        whole += a.sums
        parts += b.sums
    found, added = speedup(whole), speedup(parts)
    assert found is not None
    assert added is not None
    assert added.ratio == pytest.approx(found.ratio, rel=1e-12)
    assert added.interval is not None
    assert found.interval is not None
    # Each replica weighs the mix of its own traffic, so that widths agree to a few percent.
    assert added.interval.low == pytest.approx(found.interval.low, rel=2e-3)
    assert added.interval.high == pytest.approx(found.interval.high, rel=2e-3)


def test_learning_goes_on_after_a_restart() -> None:
    """What was learned serves the next process from its first request on."""
    former, later = Estimator(), Estimator()
    for i in range(10):
        sample = Sample(Stratum("0-512", "1"), 3.0, 100, 60.0 * i)
        former.learn_plain(MODEL, Source.SHADOW, sample, Origin("b1"))
    later.resume(former.learnings())
    found = later.take(completion(600.0, in_flight=1), Origin("b1"))
    assert found is not None
    assert found.source is Source.SHADOW
    assert found.ratio == pytest.approx(1.5)
    assert not found.stale
    assert later.take(completion(600.0, in_flight=1), Origin("b2")).stale  # type: ignore[union-attr]


def test_a_server_that_never_drafts_is_not_compared_with_itself() -> None:
    """1.00 by definition would say nothing; from the first draft on it is a baseline."""
    estimator = Estimator()
    for i in range(10):
        assert estimator.take(completion(60.0 * i, drafted=0, accepted=0)) is None
    assert only(estimator, 600.0).baselines == ()
    assert estimator.take(completion(600.0)) is not None
    assert estimator.take(completion(660.0, drafted=0, accepted=0)) is not None


def test_learnings_of_a_former_run_wait_for_a_draft() -> None:
    """The server may have been started without speculation since."""
    former, later = Estimator(), Estimator()
    for i in range(10):
        former.take(completion(60.0 * i, drafted=0, accepted=0))
    later.resume(former.learnings())
    assert later.take(completion(600.0, drafted=0, accepted=0)) is None
    assert later.take(completion(660.0)) is not None
