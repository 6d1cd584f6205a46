import asyncio
import os
import re
import signal
import socket
import sys
from asyncio.subprocess import Process
from pathlib import Path

import aiohttp
import pytest

ANY_PORTS = ("--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")


async def start(*flags: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "specmeter",
        "demo",
        *("--threads", "1"),  # several stall on a machine that is busy
        *flags,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def end(process: Process) -> tuple[int | None, str, str]:
    async with asyncio.timeout(120):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


def children(pid: int) -> list[int]:
    """Give the processes whose parent is pid."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


async def read_until(stream: asyncio.StreamReader | None, pattern: str) -> re.Match[str]:
    """Read lines up to the first that matches, and give the match."""
    assert stream is not None
    async with asyncio.timeout(120):
        async for line in stream:
            if match := re.search(pattern, line.decode()):
                return match
    pytest.fail(f"the output ended without {pattern}")


@pytest.mark.usefixtures("llama_model")
async def test_demo_ends_by_itself_with_totals() -> None:
    """After its time the demo ends with exit code 0 and totals of both upstreams."""
    code, out, err = await end(await start("--seconds", "8", *ANY_PORTS))
    assert (code, err) == (0, "")
    assert "answered by ngram-mod" in out
    assert re.search(r"ngram-mod: acceptance 0\.\d\d = accepted [1-9]\d* / drafted [1-9]\d*", out)
    assert re.search(r"plain: acceptance – = accepted 0 / drafted 0", out)  # noqa: RUF001
    assert re.search(r"plain: output per target step 1\.00 = tokens (\d+) / steps \1", out)
    assert re.search(r"ngram-mod .* tok/s against [\d.]+ tok/s, over the same \d+ prompt", out)


@pytest.mark.usefixtures("llama_model")
async def test_model_that_drafts_for_itself_is_told_about() -> None:
    """With draft-simple the last line sets acceptance beside the two speeds."""
    code, out, _ = await end(await start("--seconds", "1", "--drafter", "draft-simple", *ANY_PORTS))
    assert code == 0
    assert re.match(
        r"draft-simple had acceptance (0\.[89]\d|1\.00) .* than plain: [\d.]+ tok/s against",
        out.splitlines()[-1],
    )


@pytest.mark.usefixtures("llama_model")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_ctrl_c_ends_quietly(number: signal.Signals) -> None:
    """A signal ends the demo with exit code 0, no complaint, and no server left running."""
    demo = await start(*ANY_PORTS)
    metrics = await read_until(demo.stdout, r"^metrics\s+(http://\S+/metrics)$")
    await read_until(demo.stdout, "drafted")
    async with aiohttp.ClientSession() as client, client.get(metrics[1]) as response:
        assert "specmeter_generated_tokens_total" in await response.text()
    servers = children(demo.pid)
    assert len(servers) == 2
    demo.send_signal(number)
    code, _, err = await end(demo)
    assert (code, err) == (0, "")
    for server in servers:
        with pytest.raises(ProcessLookupError):
            os.kill(server, 0)


@pytest.mark.usefixtures("llama_model")
async def test_port_in_use_is_told() -> None:
    """A taken port ends the demo with exit code 1 and one line that names it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, _, err = await end(await start("--listen", address, "--admin", "127.0.0.1:0"))
    assert code == 1
    assert address in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("flags", "code", "text"),
    [
        (["--seconds", "0"], 2, "'0' is no number of seconds above 0"),
        (["--seconds", "soon"], 2, "'soon' is no number of seconds above 0"),
        (["--drafter", "magic"], 2, "invalid choice: 'magic'"),
        (["--listen", "8088"], 2, "--listen: "),
        (["--admin", "nowhere"], 2, "--admin: "),
        (["--model", "gone.gguf"], 1, "cannot read the model gone.gguf"),
    ],
)
async def test_bad_flags_are_told(flags: list[str], code: int, text: str) -> None:
    """A flag at fault ends the demo at once with what is wrong about it."""
    found, _, err = await end(await start(*flags))
    assert found == code
    assert text in err
    assert "Traceback" not in err
