"""What is remembered of the past, and that it stays small."""

import random
import tracemalloc

import pytest

from specmeter.api.series import total_of, within
from specmeter.history.history import LATEST, MOST_MODELS, History, Missed, Model
from specmeter.history.names import LONGEST, short
from specmeter.history.timeline import RANGES, Range, Timeline
from specmeter.meter.completion import Completion
from specmeter.speedup.baseline import Source
from specmeter.speedup.interval import Sums, speedup
from specmeter.tally.counts import Counts
from tests.history.completions import made_up

NOON = 1_800_000_000.0
M = Model("u", "m")
FIVE, HOUR, DAY = RANGES.values()


def timeline(history: History, model: Model = M) -> Timeline:
    found = history.of(model)
    assert found is not None
    return found


def totals(history: History, of: Range, now: float, model: Model = M) -> Counts:
    return total_of(within(timeline(history, model).window(of, now), of, now)).counts


def taken(*completions: Completion) -> History:
    history = History()
    for completion in completions:
        history.take(completion)
    return history


def test_sums_of_one_completion() -> None:
    """Each number is counted beside its denominator, and the prompt pass is no step of the work."""
    counts = totals(taken(made_up(NOON)), FIVE, NOON)
    assert (counts.completions, counts.drafted_completions, counts.not_reported) == (1, 1, 0)
    assert (counts.accepted, counts.drafted) == (25, 50)
    assert (counts.step_tokens, counts.steps) == (101, 76)
    assert (counts.work_steps, counts.work_seconds) == (75, 2.0)
    assert (counts.paired_steps, counts.paired_seconds, counts.paired_plain) == (75, 2.0, 3.0)
    assert (counts.decode_tokens, counts.decode_seconds) == (100, 2.0)
    assert (counts.rounds, counts.round_accepted) == (0, 0)
    assert (counts.first_tokens, counts.first_token_seconds) == (1, 0.3)
    assert counts.sources == {Source.HOLDOUT: 1}


def test_what_is_unknown_adds_nothing() -> None:
    """A server that says nothing of drafting leaves no steps, and no zeros of drafts."""
    done = made_up(NOON, plain=None, drafted=None, accepted=None, decode_milliseconds=None)
    counts = totals(taken(done), FIVE, NOON)
    assert counts == Counts(
        completions=1,
        not_reported=1,
        prompt=100,
        generated=101,
        first_tokens=1,
        first_token_seconds=0.3,
    )


def test_accepted_tokens_of_rounds_are_their_own() -> None:
    """Only completions that report rounds are in the mean acceptance length."""
    history = taken(made_up(NOON, rounds=20), made_up(NOON, accepted=40))
    counts = totals(history, FIVE, NOON)
    assert (counts.accepted, counts.round_accepted, counts.rounds) == (65, 25, 20)


def test_short_completions_have_no_speed() -> None:
    """Seven tokens say more about the clock than about decoding."""
    counts = totals(taken(made_up(NOON, generated=7, drafted=0, accepted=0)), FIVE, NOON)
    assert (counts.completions, counts.decode_seconds, counts.work_steps) == (1, 0, 0)
    assert counts.compared == 0


def test_speedup_is_that_of_the_same_completions() -> None:
    """The sums that were kept give the ratio and the interval of the completions themselves."""
    draw = random.Random(3)
    made = [
        made_up(NOON + 2 * i, plain=draw.uniform(2, 4), decode_milliseconds=draw.uniform(1e3, 3e3))
        for i in range(100)
    ]
    all_sums = sum((one.estimate.sums for one in made if one.estimate), Sums())
    found = speedup(totals(taken(*made), HOUR, NOON + 200).sums)
    expected = speedup(all_sums)
    assert found is not None
    assert expected is not None
    assert found.ratio == pytest.approx(expected.ratio, rel=1e-12)
    assert found.interval is not None
    assert expected.interval is not None
    assert found.interval.low == pytest.approx(expected.interval.low, rel=1e-9)


@pytest.mark.parametrize(("of", "ago", "is_in"), [
    (FIVE, 290, True), (FIVE, 306, False),
    (HOUR, 3500, True), (HOUR, 3661, False),
    (DAY, 85400, True), (DAY, 86401, False),
])  # fmt: skip
def test_a_range_ends(of: Range, ago: float, is_in: bool) -> None:
    """A completion counts in a range up to its span, or up to a step less."""
    history = taken(made_up(NOON - ago), made_up(NOON))
    assert totals(history, of, NOON).completions == 1 + is_in


@pytest.mark.parametrize("of", RANGES.values(), ids=RANGES)
def test_falling_resolution_loses_nothing(of: Range) -> None:
    """A completion every seven seconds: each range holds all that came within it."""
    history = taken(*(made_up(NOON + 7 * i) for i in range(3000)))
    now = NOON + 7 * 2999
    first = now - now % of.step + of.step - of.span
    expected = sum(NOON + 7 * i >= first for i in range(3000))
    assert totals(history, of, now).completions == expected


def test_slices_add_up_to_the_whole() -> None:
    """Each completion is in one bucket of each axis on which its place is known."""
    history = taken(
        made_up(NOON, prompt=100, in_flight=1),
        made_up(NOON + 1, prompt=5000, generated=30, accepted=5, in_flight=4),
        made_up(NOON + 2, prompt=None, in_flight=None),
    )
    (bucket,) = timeline(history).window(HOUR, NOON + 2)
    found = {key: int(sums.counts.completions) for key, sums in bucket.slices.items()}
    assert found == {
        ("context", "0-512"): 1,
        ("context", "2k-8k"): 1,
        ("output", "64-256"): 2,
        ("output", "0-64"): 1,
        ("in_flight", "1"): 1,
        ("in_flight", "3-4"): 1,
    }


def test_one_that_comes_late_counts_in_the_step_under_way() -> None:
    """What waited for its log line ended twenty seconds ago: it is not lost, and order holds."""
    history = taken(made_up(NOON), made_up(NOON + 30), made_up(NOON + 10))
    window = timeline(history).window(FIVE, NOON + 30)
    assert [bucket.total.counts.completions for bucket in window] == [1, 2]
    assert [bucket.start for bucket in window] == [NOON, NOON + 30]


def test_a_clock_that_is_set_back_does_not_stop_the_charts() -> None:
    """What lies in the future is dropped, and what comes is counted at its time."""
    history = taken(made_up(NOON), made_up(NOON + 7200), made_up(NOON + 100), made_up(NOON + 200))
    assert totals(history, FIVE, NOON + 200).completions == 3
    starts = [bucket.start for bucket in timeline(history).window(FIVE, NOON + 200)]
    assert starts == sorted(starts)
    assert starts[-1] == NOON + 200


def test_reading_changes_nothing() -> None:
    """A page that is open does not move what is remembered."""
    history = taken(made_up(NOON), made_up(NOON + 1))
    for _ in range(3):
        for of in RANGES.values():
            assert totals(history, of, NOON + 1).completions == 2


def test_models_have_room_up_to_a_limit() -> None:
    """The model seen longest ago makes room, with its last time."""
    history = History()
    for i in range(MOST_MODELS):
        history.take(made_up(NOON + i, model=f"m{i}"))
    history.take(made_up(NOON + 100, model="m0"))
    history.take(made_up(NOON + 101, model="new"))
    assert len(history.models) == MOST_MODELS
    assert history.of(Model("u", "m1")) is None
    assert history.of(Model("u", "m0")) is not None
    assert len(history.last_completion) == MOST_MODELS


def test_names_are_cut_and_stay_different() -> None:
    """Names of 10 kB are cut to what can be shown, and do not become one."""
    one, other = short("x" * 10_000), short("x" * 9_999 + "y")
    assert one != other
    assert max(len(one), len(other)) <= LONGEST
    assert short("llama-3.1") == "llama-3.1"


def test_the_latest_are_numbered() -> None:
    """Rows rise by one, the oldest go, and a request that brought nothing is one of them."""
    history = taken(*(made_up(NOON + i) for i in range(LATEST + 9)))
    history.miss(Missed("u", "/v1/completions", 502, "cannot_connect", NOON))
    assert [row.number for row in history.after(LATEST + 8)] == [LATEST + 9, LATEST + 10]
    assert len(history.after(0)) == LATEST
    assert history.after(LATEST + 10) == []
    assert history.missed == {("u", "cannot_connect"): 1}


def test_a_day_takes_little_memory() -> None:
    """A day of completions of all kinds at injected times: under 2 MB for a model, and no growth.

    The benchmark `python -m tests.benchmarks.memory` does it with 50 a second.
    """
    draw = random.Random(1)
    history = History()

    def live(start: float, hours: float) -> None:
        at = start
        while at < start + 3600 * hours:
            prompt, load = draw.choice((50, 900, 4000, 20_000, 90_000)), draw.choice((1, 2, 4, 9))
            generated = draw.choice((20, 100, 500, 2000))
            done = made_up(at, prompt=prompt, generated=generated, accepted=5, in_flight=load)
            history.take(done)
            at += draw.expovariate(0.05)

    tracemalloc.start()
    try:
        live(NOON, 26)
        first, _ = tracemalloc.get_traced_memory()
        live(NOON + 26 * 3600, 4)
        second, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert first < 2_500_000
    assert second < 1.05 * first
