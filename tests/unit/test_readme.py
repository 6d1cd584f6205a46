"""README and docs/metrics.md say what the program does."""

import re
from pathlib import Path

import pytest

from specmeter.meter.families import FAMILIES

_PROCESS = "specmeter_process_"  # the client library's own

README = Path(__file__).parents[2] / "README.md"
METRICS = README.parent / "docs" / "metrics.md"


def metrics_table() -> str:
    """Return the table of all families, as docs/metrics.md shows it."""
    rows = [
        f"| `{family.full_name}` | {family.kind} | "
        f"{', '.join(f'`{label}`' for label in family.labels)} | {family.meaning} |"
        for family in FAMILIES
    ]
    return "\n".join(["| family | type | labels | meaning |", "|---|---|---|---|", *rows])


def test_the_metrics_table_is_current() -> None:
    """Every family is in the table with its type, labels and meaning; paste what is missing."""
    between = re.search(
        r"<!-- metrics -->\n(.*)\n<!-- /metrics -->", METRICS.read_text(encoding="utf-8"), re.DOTALL
    )
    assert between is not None
    assert between[1] == metrics_table()


@pytest.mark.parametrize("page", [README, METRICS], ids=lambda page: page.name)
def test_only_families_that_exist_are_named(page: Path) -> None:
    """No example asks for a series that is not exported."""
    text = re.sub(r"\w+:specmeter_\w+:\w+", "", page.read_text(encoding="utf-8"))  # by rules
    names = set(re.findall(r"specmeter_\w+", text))
    known = {family.full_name for family in FAMILIES}
    assert len(names) > 5
    beginnings = {name for name in names if name.endswith("_")}
    assert all(any(name.startswith(one) for name in known) for one in beginnings - {_PROCESS})
    assert names - beginnings <= known
