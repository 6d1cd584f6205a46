"""The soak, for less than a minute: `make soak` runs it for an hour."""

from __future__ import annotations

from pathlib import Path

from tests.soak.mix import KINDS
from tests.soak.report import markdown
from tests.soak.run import Plan, Run


async def test_soak(tmp_path: Path) -> None:
    """Mixed traffic with faults: every byte is right, every count exact, and nothing is left."""
    plan = Plan(seconds=32, seed=1, kill_every=4)
    result = await Run(plan, lambda *_: None, tmp_path).go()
    assert result.passed, markdown(result)
    assert set(result.tally.kinds) == set(KINDS), "not every kind of request has come"
    assert result.kills > 0
