"""A log that grows, is rotated, cut, moved away and comes late: each byte is read once."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specmeter.serverlog.follower import LogFile, LogFollower
from specmeter.serverlog.matching import Logged

LINES = (
    b"slot print_timing: id  0 | task %d | prompt eval time =     120.50 ms /    41 tokens\n"
    b"slot print_timing: id  0 | task %d |        eval time =    1600.00 ms /   129 tokens\n"
    b"slot print_timing: id  0 | task %d | draft acceptance = 0.33333 (   64 accepted /"
    b"   192 generated), mean len =  2.00\n"
    b"slot      release: id  0 | task %d | stop processing: n_tokens = 169, truncated = 0\n"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


@pytest.fixture
def log(path: Path) -> Iterator[LogFile]:
    file = LogFile(path)
    yield file
    file.close()


@pytest.fixture
def follow(path: Path) -> Iterator[Callable[..., LogFollower]]:
    made: list[LogFollower] = []

    def make(
        on_logged: Callable[[Logged], None] = lambda _: None,
        on_configured: Callable[[bool], None] = lambda _: None,
    ) -> LogFollower:
        made.append(LogFollower("u", path, on_logged, lambda: None, on_configured))
        return made[-1]

    yield make
    for follower in made:
        follower._file.close()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_only_what_is_new_is_read(path: Path, log: LogFile) -> None:
    """What was there before the start is another day's traffic."""
    path.write_bytes(b"old\n")
    assert log.read() == b""
    append(path, b"new\n")
    assert (log.read(), log.read()) == (b"new\n", b"")


def test_a_file_that_comes_later_is_read_from_its_start(path: Path, log: LogFile) -> None:
    """The server may be started after the proxy."""
    assert log.read() == b""
    path.write_bytes(b"first\n")
    assert log.read() == b"first\n"


@pytest.mark.parametrize("gap", [False, True])
def test_rotation(path: Path, log: LogFile, gap: bool) -> None:
    """The old file is read to its end, then the new one from its start."""
    path.write_bytes(b"")
    log.read()
    append(path, b"one\n")
    path.rename(path.with_suffix(".1"))
    if gap:
        assert log.read() == b"one\n"
        assert log.read() == b""
    append(path.with_suffix(".1"), b"two\n")
    path.write_bytes(b"three\n")
    got = b"".join(log.read() for _ in range(4))
    assert got == (b"two\nthree\n" if gap else b"one\ntwo\nthree\n")


def test_truncation(path: Path, log: LogFile) -> None:
    """A file that was cut is read from its start."""
    path.write_bytes(b"")
    log.read()
    append(path, b"a long line\n")
    assert log.read() == b"a long line\n"
    os.truncate(path, 0)
    append(path, b"new\n")
    assert log.read() == b"new\n"


def test_requests_are_handed_on(path: Path, follow: Callable[..., LogFollower]) -> None:
    """A request comes once, with the numbers of its lines."""
    path.write_bytes(b"")
    seen: list[Logged] = []
    follower = follow(seen.append)
    follower._look()
    for task in (1, 2):
        lines = LINES % (task, task, task, task)
        append(path, lines[:150])
        follower._look()
        append(path, lines[150:])
        follower._look()
    assert [one.reading.generated for one in seen] == [129, 129]
    assert [(one.reading.drafted, one.reading.accepted) for one in seen] == [(192, 64)] * 2
    assert seen[0].prompt_processed == 41


def test_start_up_lines_tell_whether_it_is_on(
    path: Path, follow: Callable[..., LogFollower]
) -> None:
    """A server that is restarted while it is followed says so itself."""
    path.write_bytes(b"")
    told: list[bool] = []
    follower = follow(on_configured=told.append)
    follower._look()
    append(path, b"srv    load_model: speculative decoding context initialized\n")
    follower._look()
    assert told == [True]


def test_a_log_that_cannot_be_read_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It stops nothing."""
    follower = LogFollower("u", tmp_path, lambda _: None, lambda: None, lambda _: None)
    for _ in range(3):
        follower._look()
    (record,) = caplog.records
    assert str(tmp_path) in record.getMessage()
    assert "is a directory" in record.getMessage()
