"""The file of learned baselines."""

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from specmeter.speedup.baseline import Origin, Sample, Source
from specmeter.speedup.estimator import Estimator
from specmeter.speedup.store import Learnings, Store, encode
from specmeter.speedup.strata import Stratum


def learnings() -> Learnings:
    estimator = Estimator()
    for i in range(30):
        stratum = Stratum(("0-512", "2k-8k")[i % 2], "1")
        sample = Sample(stratum, 3.0 + i, 100, 1.7e9 + 60.0 * i)
        estimator.learn_plain(("u", "m"), Source.HOLDOUT, sample, Origin("b9001-abcdef1", "m"))
    return estimator.learnings()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "learned.json"


def test_what_was_saved_is_loaded(path: Path) -> None:
    """Every number comes back as it was."""
    assert Store(path).save(encode(learnings())) == ""
    assert Store(path).load() == (learnings(), "")
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_no_file_is_a_fresh_start_without_a_warning(path: Path) -> None:
    """The first time there is none."""
    assert Store(path).load() == (Learnings(), "")


def changed(**changes: Any) -> bytes:
    content = json.loads(encode(learnings()))
    for dotted, value in changes.items():
        *parents, last = dotted.split("__")
        inner = content
        for key in parents:
            inner = inner[int(key) if key.isdigit() else key]
        inner[last] = value
    return json.dumps(content).encode()


CELL = "entries__0__learned__cells__0__"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 100,
        b"[]",
        encode(learnings())[:-40],
        changed(version=2),
        changed(entries__0__source="guessed"),
        changed(entries__0__learned__samples=-1),
        changed(entries__0__learned__samples=0),
        changed(**{CELL + "lasting__tokens": 0}),
        changed(**{CELL + "lasting__seconds": 0}),
        changed(**{CELL + "lasting__seconds": -1}),
        changed(**{CELL + "stratum__context": "mine"}),
        changed(entries__0__learned__tail__expected_squared=0),
    ],
)
def test_a_file_that_makes_no_sense_is_put_aside(path: Path, content: bytes) -> None:
    """Learning starts anew, with a warning that names the file, and nothing is lost."""
    path.write_bytes(content)
    found, warning = Store(path).load()
    assert found == Learnings()
    assert str(path) in warning
    assert "anew" in warning
    assert path.with_name("learned.json.bad").read_bytes() == content
    assert not path.exists()


def test_a_file_that_cannot_be_read_is_left_alone(path: Path) -> None:
    """A folder of that name, here."""
    path.mkdir()
    found, warning = Store(path).load()
    assert found == Learnings()
    assert "Is a directory" in warning


def test_a_folder_that_does_not_exist_is_reported(path: Path) -> None:
    """Saving says so and raises nothing."""
    assert "No such file" in Store(path / "deeper" / "file.json").save(b"{}")


def test_a_full_disk_is_reported_and_the_former_file_stays(path: Path) -> None:
    """Writing fails half-way, as on a full disk: no half-written file is left."""
    Store(path).save(encode(learnings()))
    former = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(former) // 2, limits[1]))
    try:
        error = Store(path).save(former + b" ")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "cannot be written" in error
    assert path.read_bytes() == former
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_reader_never_sees_half_a_file(path: Path) -> None:
    """Whoever has the former file open still reads it in full after it was replaced."""
    Store(path).save(b"former")
    opened = os.open(path, os.O_RDONLY)
    try:
        Store(path).save(b"new")
        assert os.read(opened, 100) == b"former"
    finally:
        os.close(opened)
    assert path.read_bytes() == b"new"
