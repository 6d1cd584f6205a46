"""The latest completions of a model."""

import msgspec

from specmeter.speedup.baseline import Source
from specmeter.speedup.estimate import Estimate
from specmeter.speedup.recent import FITTED, LATEST, Recent
from specmeter.speedup.strata import Stratum
from specmeter.speedup.work import Work

WORK = Work(steps=10, tokens=30, drafted=40, seconds=0.6)
ESTIMATE = Estimate(0.6, 0.9, 0.01, Source.MEASURED, Stratum(), stale=False)


def test_work_is_kept_with_what_its_baseline_says() -> None:
    """30 tokens would have taken 0.9 s; without a baseline nothing is said."""
    recent = Recent()
    recent.add(ESTIMATE, WORK)
    recent.add(None, WORK)
    assert recent.works == (msgspec.structs.replace(WORK, plain_seconds=0.9), WORK)
    assert recent.sums == ESTIMATE.sums


def test_what_is_not_known_is_left_out() -> None:
    """An estimate of a completion that says nothing of drafting."""
    recent = Recent()
    recent.add(ESTIMATE, None)
    assert recent.works == ()
    assert recent.sums.count == 1


def test_the_oldest_are_forgotten() -> None:
    """Of speeds sooner than of steps."""
    recent = Recent()
    for _ in range(FITTED + 1):
        recent.add(ESTIMATE, WORK)
    assert recent.sums.count == LATEST
    assert len(recent.works) == FITTED
