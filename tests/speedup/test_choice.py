"""The best source that has data is taken, and one of another build last."""

import pytest

from specmeter.speedup.baseline import Origin, PlainSpeed, Sample, Source
from specmeter.speedup.choice import Baselines
from specmeter.speedup.fixed import FixedBaseline
from specmeter.speedup.measured import MeasuredBaseline
from specmeter.speedup.strata import Conditions
from specmeter.speedup.table import Point, Table

USUAL = Conditions.of(300, 1)
OTHERS = Conditions.of(50_000, 16)
B1, B2 = Origin("b9001-abcdef1"), Origin("b9002-abcdef2")
TABLE = Table((Point(300, 1, 0.02, 0.01), Point(9000, 1, 0.03, 0.01)), 0.0, "b9001-abcdef1")


def learn(baselines: Baselines, source: Source, per_token: float, origin: Origin = B1) -> None:
    for i in range(20):
        baselines.learn(source, Sample(USUAL.stratum, 100 * per_token, 100, i * 60.0), origin)


def ask(baselines: Baselines, now: Origin = B1, conditions: Conditions = USUAL) -> PlainSpeed:
    found = baselines.plain_speed(conditions, 100, 1200.0, now)
    assert found is not None
    return found


@pytest.fixture
def all_sources() -> Baselines:
    """Each source tells another number."""
    baselines = Baselines()
    baselines.drafts = True
    learn(baselines, Source.HOLDOUT, 0.010)
    learn(baselines, Source.SHADOW, 0.011)
    learn(baselines, Source.UNDRAFTED, 0.014)
    baselines.give(MeasuredBaseline(TABLE), B1)
    baselines.give(FixedBaseline(0.013, 0.0), Origin())
    return baselines


def test_no_source_no_speed() -> None:
    """Without a baseline nothing is made up."""
    assert Baselines().plain_speed(USUAL, 100, 0.0, B1) is None


def test_best_source_first(all_sources: Baselines) -> None:
    """Holdout before all others; states are told in the same order."""
    assert ask(all_sources).source is Source.HOLDOUT
    assert [one.source for one in all_sources.states(1200.0, B1)] == list(Source)


@pytest.mark.parametrize(
    ("present", "taken"),
    [
        ((Source.SHADOW, Source.MEASURED, Source.UNDRAFTED), Source.SHADOW),
        ((Source.MEASURED, Source.FIXED, Source.UNDRAFTED), Source.MEASURED),
        ((Source.FIXED, Source.UNDRAFTED), Source.FIXED),
        ((Source.UNDRAFTED,), Source.UNDRAFTED),
    ],
)
def test_order(present: tuple[Source, ...], taken: Source) -> None:
    """The best of those that are there."""
    baselines = Baselines()
    baselines.drafts = True
    for source in present:
        if source is Source.MEASURED:
            baselines.give(MeasuredBaseline(TABLE), B1)
        elif source is Source.FIXED:
            baselines.give(FixedBaseline(0.013, 0.0), Origin())
        else:
            learn(baselines, source, 0.01)
    assert ask(baselines).source is taken


def test_completions_without_drafts_are_no_baseline_where_nothing_is_drafted() -> None:
    """They are learned from, and serve once something is."""
    baselines = Baselines()
    learn(baselines, Source.UNDRAFTED, 0.01)
    assert baselines.plain_speed(USUAL, 100, 1200.0, B1) is None
    assert baselines.states(1200.0, B1) == ()
    baselines.drafts = True
    assert ask(baselines).source is Source.UNDRAFTED


def test_a_coarser_stratum_comes_before_a_weaker_source(all_sources: Baselines) -> None:
    """The holdout has seen no such context or load, and still serves, with its doubt."""
    found = ask(all_sources, conditions=OTHERS)
    assert found.source is Source.HOLDOUT
    assert found.relative_error > 0.1


def test_a_source_with_too_few_samples_has_no_data() -> None:
    """Four samples of a holdout do not replace what was measured."""
    baselines = Baselines()
    baselines.give(MeasuredBaseline(TABLE), B1)
    for i in range(4):
        baselines.learn(Source.HOLDOUT, Sample(USUAL.stratum, 1.0, 100, i * 60.0), B1)
    assert ask(baselines).source is Source.MEASURED


def test_another_build_makes_a_baseline_stale() -> None:
    """It is still used if there is no other, said to be stale, and 10 % less certain."""
    baselines = Baselines()
    baselines.give(MeasuredBaseline(TABLE), B1)
    fresh = ask(baselines)
    stale = ask(baselines, B2)
    assert not fresh.stale
    assert stale.stale
    assert stale.seconds_per_token == fresh.seconds_per_token
    assert stale.relative_error == pytest.approx((fresh.relative_error**2 + 0.01) ** 0.5)
    assert [one.stale for one in baselines.states(0.0, B2)] == [True]


def test_a_weaker_source_comes_before_a_stale_one(all_sources: Baselines) -> None:
    """After an upgrade a number without a build is better than measurements of another one."""
    assert ask(all_sources, B2).source is Source.FIXED


def test_a_live_source_starts_anew_with_the_plain_servers_build() -> None:
    """What was learned of the former build is forgotten."""
    baselines = Baselines()
    learn(baselines, Source.HOLDOUT, 0.010)
    learn(baselines, Source.HOLDOUT, 0.030, B2)
    found = ask(baselines, B2)
    assert found.seconds_per_token == pytest.approx(0.030)
    assert not found.stale


def test_a_build_that_becomes_known_changes_nothing() -> None:
    """The first samples did not say: they are kept, and the build is remembered."""
    baselines = Baselines()
    learn(baselines, Source.HOLDOUT, 0.010, Origin())
    baselines.learn(Source.HOLDOUT, Sample(USUAL.stratum, 1.0, 100, 1200.0), B1)
    assert ask(baselines).source is Source.HOLDOUT
    assert ask(baselines, B2).stale


def test_given_sources_do_not_learn() -> None:
    """Samples for a table or a number are a mistake of the caller."""
    with pytest.raises(ValueError, match="measured does not learn"):
        Baselines().learn(Source.MEASURED, Sample(USUAL.stratum, 1.0, 100, 0.0), B1)
