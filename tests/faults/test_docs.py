"""docs/faults.md names what there is."""

import re
from pathlib import Path

from specmeter.gateway.failures import FAILURES

TESTS = Path(__file__).parents[1]
TEXT = (TESTS.parent / "docs" / "faults.md").read_text(encoding="utf-8")


def test_every_test_that_is_named_exists() -> None:
    """Each line's tests can be looked up."""
    named = set(re.findall(r"`(\w+/test_\w+\.py)`", TEXT))
    assert len(named) > 15
    assert [name for name in sorted(named) if not (TESTS / name).exists()] == []


def test_every_failure_is_told() -> None:
    """No reason is counted that the page does not explain."""
    assert [reason for reason in FAILURES if f"`{reason}`" not in TEXT] == []
