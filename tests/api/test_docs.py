"""docs/api.md tells what the API has."""

from pathlib import Path

import msgspec
import pytest

from specmeter.api.numbers import Numbers, SpeedupNumber
from specmeter.api.rows import RowOut
from specmeter.api.series import Point, Series
from specmeter.api.summary import ModelOut, StepCostOut, Summary, UpstreamOut
from specmeter.api.verdict import Kind, VerdictOut

DOCS = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "struct",
    [
        *(Summary, UpstreamOut, ModelOut, VerdictOut, Numbers, SpeedupNumber, StepCostOut),
        *(Series, Point, RowOut),
    ],
)
def test_every_field_is_told(struct: type[msgspec.Struct]) -> None:
    """A field that is not in the docs is nobody's."""
    missing = [name for name in struct.__struct_fields__ if name not in DOCS]
    assert missing == []


def test_every_verdict_is_told() -> None:
    """All that `kind` can be is listed."""
    assert [kind for kind in Kind if f"`{kind}`" not in DOCS] == []
