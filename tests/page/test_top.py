"""`specmeter top`: the page's top in a terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
from pathlib import Path

import pytest

from specmeter.top.lines import clean
from tests.page.fake import before, fake_llama, send


async def top(*flags: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "specmeter", "top", *flags),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_one_plain_summary_into_a_pipe() -> None:
    """The verdict, the fractions and the upstream's state, each on a line; exit code 0."""
    async with fake_llama() as fake, before(fake) as shown:
        await send(shown, 6)
        code, out, err = await top("--admin", shown.admin_url.removeprefix("http://"))
    assert (code, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    assert "fake: up, llama_cpp b1234-abcdef0, speculation drafting, nothing under way" in lines
    assert any(line.startswith("fake · m: Faster 1.65") for line in lines)
    assert any("acceptance" in line and "= accepted 360 / drafted 480" in line for line in lines)
    assert any("output per target step" in line and "600 / steps 240" in line for line in lines)
    assert "\x1b" not in out


async def test_names_do_not_reach_the_terminal_as_commands() -> None:
    """An escape sequence in a model's name is shown, not obeyed, and markup is no markup."""
    name = "\x1b]0;hacked\x07[bold]\u202em[/bold]"
    async with fake_llama(models=(name,), build="\x1b[2J") as fake, before(fake) as shown:
        await send(shown, 1, name)
        code, out, _ = await top("--admin", shown.admin_url.removeprefix("http://"))
    assert code == 0
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "]0;hacked\ufffd[bold]\ufffdm[/bold]" in out


async def test_no_proxy_there() -> None:
    """The address, the reason and the remedy; exit code 1."""
    code, out, err = await top("--admin", "127.0.0.1:1")
    assert (code, out) == (1, "")
    assert "http://127.0.0.1:1 does not answer: connection refused" in err
    assert "--admin HOST:PORT" in err


async def test_something_else_there() -> None:
    """A server that is no specmeter is told from one."""
    async with fake_llama() as fake:
        code, _, err = await top("--admin", fake.url.removeprefix("http://"))
    assert code == 1
    assert "is no admin listener of this version of specmeter (HTTP 404)" in err


async def test_a_key_is_brought_from_a_file(tmp_path: Path) -> None:
    """Where the admin listener wants a key, it is read from a file; without, that is told."""
    file = tmp_path / "keys"
    file.write_text("# of the admins\nsecret-1\n")
    async with fake_llama() as fake, before(fake, admin_keys_file=str(file)) as shown:
        flags = ("--admin", shown.admin_url.removeprefix("http://"))
        code, _, err = await top(*flags)
        assert code == 1
        assert "wants a key: --admin-key-file FILE" in err
        code, out, err = await top(*flags, "--admin-key-file", str(file))
        assert (code, err) == (0, "")
        assert "fake: up" in out
        code, _, err = await top(*flags, "--admin-key-file", str(tmp_path / "none"))
        assert code == 2
        assert "cannot be read: No such file" in err


async def test_an_address_at_fault() -> None:
    """Exit code 2, and the flag's name."""
    code, _, err = await top("--admin", "nowhere")
    assert code == 2
    assert "--admin" in err


async def test_live_on_a_terminal() -> None:
    """It goes on, shows what is new, and Ctrl-C ends it without a word."""
    async with fake_llama() as fake, before(fake) as shown:
        await send(shown, 6)
        leader, follower = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "specmeter", "top"),
            *("--admin", shown.admin_url.removeprefix("http://")),
            stdout=follower,
            stderr=follower,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "120", "LINES": "40"},
        )
        os.close(follower)
        os.set_blocking(leader, False)
        seen = b""
        try:
            async with asyncio.timeout(60):
                while b"drafted 480" not in seen:
                    seen += _read(leader)
                    await asyncio.sleep(0.05)
                await send(shown, 1)
                while b"drafted 560" not in seen:
                    seen += _read(leader)
                    await asyncio.sleep(0.05)
                process.send_signal(signal.SIGINT)
                code = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            os.close(leader)
        assert code == 0
        assert b"Traceback" not in seen


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except (BlockingIOError, OSError):
        return b""


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\nb\x00", "a\ufffdb\ufffd"), ("x" * 100, "x" * 59 + "…"), ("نموذج", "نموذج"), (12, "12")],
)
def test_cleaning(text: object, shown: str) -> None:
    """Controls are replaced, long texts cut, letters of any script kept."""
    assert clean(text) == shown
