"""The file of a baseline: written, read, and refused where it is damaged."""

import json
from pathlib import Path
from typing import Any

import pytest

from specmeter.errors import ConfigError
from specmeter.speedup.table import Repeat, Table, points_of
from specmeter.speedup.table_file import MAX_BYTES, decode_table, encode_table, load_table
from tests.unprivileged import unprivileged

CELLS = {
    (256.5, 1): [Repeat(1.0, 50), Repeat(1.25, 50), Repeat(1.1, 50)],
    (1024.0, 1): [Repeat(2.0, 50), Repeat(2.2, 50), Repeat(2.1, 50)],
}
TABLE = Table(points=points_of(CELLS), measured_at=1_800_000_000.5, build="b1-a", model="m")
CONTENT = encode_table(TABLE, CELLS, {"tool": "specmeter 1"})


def changed(**members: Any) -> bytes:
    """Return the file with members that are otherwise, or gone where they are None."""
    content = {**json.loads(CONTENT), **members}
    return json.dumps({key: one for key, one in content.items() if one is not None}).encode()


def point(**members: Any) -> bytes:
    """Return the file with a first point that is otherwise."""
    first, *others = json.loads(CONTENT)["points"]
    return changed(points=[{**first, **members}, *others])


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """To the last digit."""
    path = tmp_path / "baseline.json"
    path.write_bytes(CONTENT)
    assert load_table(path) == TABLE


def test_people_can_read_it() -> None:
    """Each point has its repeats and their spread; the file says what measured, and when."""
    content = json.loads(CONTENT)
    assert content["points"][0]["tokens_per_second"] == [50.0, 40.0, 45.455]
    assert content["points"][0]["range_ratio"] == 1.25
    assert content["tool"] == "specmeter 1"
    assert content["measured"] == "2027-01-15T08:00:00+00:00"
    assert CONTENT.count(b"\n") > 10


def test_every_cut_is_refused() -> None:
    """A file that was written in part is no baseline."""
    for length in range(len(CONTENT) - 2):
        with pytest.raises(ConfigError, match="is no baseline"):
            decode_table(CONTENT[:length])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "truncated"),
        (b"\xff\xfe", "is no baseline"),
        (b"[]", "Expected `object`"),
        (b"[" * 100_000, "is no baseline"),
        (changed(version=None), "missing required field `version`"),
        (changed(version=2), "Invalid enum value 2"),
        (changed(points=None), "missing required field `points`"),
        (changed(points=[]), "length >= 1"),
        (changed(measured_at=-1), ">= 0.0"),
        (changed(measured_at=None), "measured_at"),
        (changed(build=1), r"\$\.build"),
        (point(seconds_per_token=0), "> 0.0"),
        (point(seconds_per_token=-0.02), "> 0.0"),
        (point(seconds_per_token="0.02"), "Expected `float`"),
        (point(seconds_per_token=None), "Expected `float`"),
        (point(seconds_per_token=4000), "4000 seconds per token"),
        (point(relative_error=-0.1), ">= 0.0"),
        (point(in_flight=0), ">= 1"),
        (point(in_flight=1.5), "Expected `int`"),
        (point(context=-1), ">= 0.0"),
        (point(context=1024.0), "is there twice"),
        (CONTENT.replace(b"256.5", b"NaN"), "malformed"),
        (CONTENT.replace(b"256.5", b"1e999"), "out of range"),
        (b" " * (MAX_BYTES + 1), "larger than 4 MiB"),
    ],
)
def test_damage_is_told(tmp_path: Path, content: bytes, fault: str) -> None:
    """With the file, the fault and the remedy."""
    path = tmp_path / "baseline.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=fault) as caught:
        load_table(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "measure again with specmeter baseline" in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """And a folder in its place too."""
    with pytest.raises(ConfigError, match=r"none: the baseline cannot be read: No such file"):
        load_table(tmp_path / "none")
    with pytest.raises(ConfigError, match="the baseline cannot be read: Is a directory"):
        load_table(tmp_path)


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    """With the reason."""
    path = tmp_path / "secret"
    path.write_bytes(CONTENT)
    path.chmod(0)
    with unprivileged(), pytest.raises(ConfigError, match="Permission denied"):
        load_table(path)
