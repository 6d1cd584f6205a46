"""No room on the disk for the learned baselines: said once, and nothing else is lost."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from specmeter import learning
from specmeter.speedup.store import decode
from tests.gateway.client import CHAT_BODY, chat
from tests.gateway.plain import completion
from tests.gateway.proxy import Proxy, running, until
from tests.scripted import ScriptedUpstream, answer, response

PLAIN = 20
"""So many completions without drafts are learned from at a time."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a folder on a disk of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be made here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Leave no room in a folder; return the file that has it."""
    filler = folder / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(b"x" * 128 * 1024)
    return filler


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def until_tried(folder: Path) -> None:
    """Wait for an attempt: it makes a file in a folder, and takes it away again."""
    before = folder.stat().st_mtime_ns  # noqa: ASYNC240 - a disk in memory
    await until(lambda: folder.stat().st_mtime_ns != before)


def said(caplog: pytest.LogCaptureFixture, text: str) -> list[str]:
    return [one.getMessage() for one in caplog.records if text in one.getMessage()]


def is_learned(state: Path) -> bool:
    """Tell whether a state file has what was learned of all completions so far."""
    entries = decode(state.read_bytes()).entries if state.exists() else ()
    return bool(entries) and entries[0].learned.samples >= PLAIN


async def learns(proxy: Proxy, upstream: ScriptedUpstream) -> None:
    """Have completions without drafts, of which plain speed is learned, and some with them."""
    for drafted in (0, 20) * PLAIN:
        upstream.script = answer(response(completion(drafted=drafted)))
        assert (await chat(proxy.url, CHAT_BODY)).status == 200


async def test_a_full_disk(
    upstream: ScriptedUpstream,
    small_disk: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One warning for all attempts, the former file stays, and with room it is written again."""
    monkeypatch.setattr(learning, "SAVE_SECONDS", 0.02)
    state = small_disk / "state.json"
    caplog.set_level(logging.INFO, "specmeter")
    async with running(upstream.url, backend="llama_cpp", state_file=str(state)) as proxy:
        await learns(proxy, upstream)
        await proxy.metrics()  # by now it is counted
        await until(lambda: is_learned(state))
        former = state.read_bytes()
        filler = fill(small_disk)
        await until(lambda: bool(said(caplog, "cannot be written")))
        await learns(proxy, upstream)
        for _ in range(3):
            await until_tried(small_disk)
        (warning,) = said(caplog, "cannot be written")
        assert str(state) in warning
        assert "No space left" in warning
        assert "state_file" in warning
        assert state.read_bytes() == former
        filler.unlink()
        await until(lambda: state.read_bytes() != former)
        await until(lambda: bool(said(caplog, "written again")))
        metrics = await proxy.metrics()
        assert metrics.total("completions_total") == 80
        assert metrics.by("requests_total", "code") == {"200": 80}
    assert names(small_disk) == [state.name]
    assert is_learned(state)
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []


async def test_a_disk_that_is_full_at_the_end(
    upstream: ScriptedUpstream, small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Stopping says so, stops all the same, and leaves nothing half-written."""
    state = small_disk / "state.json"
    fill(small_disk)
    async with running(upstream.url, backend="llama_cpp", state_file=str(state)) as proxy:
        await learns(proxy, upstream)
    assert len(said(caplog, "cannot be written")) == 1
    assert names(small_disk) == ["filler"]
