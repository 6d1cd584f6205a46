import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from specmeter.demo.llama_server import LlamaServer, running_llama_server
from specmeter.demo.model import Model
from specmeter.errors import StartupError


def is_listening(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False


async def ask(url: str, **body: object) -> dict[str, Any]:
    async with (
        aiohttp.ClientSession() as client,
        client.post(
            f"{url}/v1/completions", json={"prompt": "1 2 3", "temperature": 0, **body}
        ) as response,
    ):
        assert response.status == 200
        answer: dict[str, Any] = await response.json()
        return answer


async def test_plain_server_starts_answers_and_stops(llama_model: Model) -> None:
    """A server answers under its alias, logs to its file, and is gone after the block."""
    async with running_llama_server(llama_model.path, alias="some-name") as server:
        answer = await ask(server.url, max_tokens=8)
        assert answer["model"] == "some-name"
        assert answer["usage"]["completion_tokens"] == 8
        assert "listening on" in server.log_file.read_text()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)
    assert not is_listening(server.url)
    assert not server.log_file.exists()


async def test_metrics_and_slots_are_on(plain_llama: LlamaServer) -> None:
    """The endpoints that a meter reads are switched on, and each slot has the whole context."""
    async with aiohttp.ClientSession() as client:
        async with client.get(f"{plain_llama.url}/metrics") as response:
            assert "llamacpp:tokens_predicted_total" in await response.text()
        async with client.get(f"{plain_llama.url}/slots") as response:
            slots = await response.json()
    assert [(slot["n_ctx"], slot["speculative"]) for slot in slots] == [(2048, False)] * 2


async def test_ngram_mod_drafts_from_repeated_text(ngram_mod_llama: LlamaServer) -> None:
    """The n-gram drafter drafts when the text repeats itself."""
    prompt = "def f(a):\n    return a+1\n\n" * 8
    answer = await ask(ngram_mod_llama.url, prompt=prompt, max_tokens=96)
    assert answer["timings"]["draft_n"] > 0


async def test_model_drafts_for_itself(draft_simple_llama: LlamaServer) -> None:
    """The model as its own draft model has nearly everything accepted."""
    timings = (await ask(draft_simple_llama.url, max_tokens=48))["timings"]
    assert timings["draft_n_accepted"] / timings["draft_n"] > 0.8


@pytest.mark.usefixtures("llama_model")
async def test_dead_start_tells_the_end_of_the_log(tmp_path: Path) -> None:
    """A server that cannot load its model fails with what llama.cpp said about it."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(
        StartupError, match=r"(?s)did not start \(exit code 1\).*load .*broken\.gguf"
    ):
        async with running_llama_server(broken):
            pytest.fail("started")


async def test_port_in_use_is_told(llama_model: Model) -> None:
    """A port that is taken is named in the error."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartupError, match=f"couldn't bind.*{port}"):
            async with running_llama_server(llama_model.path, port=port):
                pytest.fail("started")


async def test_start_is_bounded(llama_model: Model, tmp_path: Path) -> None:
    """A server that is not ready in time is stopped and told."""
    log = tmp_path / "llama.log"
    with pytest.raises(StartupError, match=r"not ready after 0\.01 s"):
        async with running_llama_server(llama_model.path, start_seconds=0.01, log_file=log):
            pytest.fail("started")


async def test_missing_llama_cpp_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without llama.cpp the error says what to install."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(StartupError, match=r"pip install 'specmeter\[demo\]'"):
        async with running_llama_server(tmp_path / "any.gguf"):
            pytest.fail("started")


PARENT = """
import asyncio, sys
from pathlib import Path
from specmeter.demo.llama_server import running_llama_server

async def main():
    async with running_llama_server(Path(sys.argv[1]), log_file=Path(sys.argv[2])) as server:
        print(server.url, server.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_server_dies_with_its_parent(llama_model: Model, tmp_path: Path) -> None:
    """A parent that is killed takes its server with it."""
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PARENT,
        llama_model.path,
        tmp_path / "llama.log",
        stdout=asyncio.subprocess.PIPE,
    )
    assert parent.stdout is not None
    url, pid = (await parent.stdout.readline()).decode().split()
    try:
        assert is_listening(url)
        parent.send_signal(signal.SIGKILL)
        await parent.wait()
        async with asyncio.timeout(10):
            while is_listening(url):  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.05)
    except BaseException:
        os.kill(int(pid), signal.SIGKILL)
        raise
