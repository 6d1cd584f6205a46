"""The program as people start it, in front of a real server."""

import asyncio
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest

from specmeter.demo.llama_server import LlamaServer
from tests.real.openai_client import API_KEY, CHAT, MODEL, async_client
from tests.real.page import Page
from tests.real.proxy import until

LISTENS = re.compile(r"point clients at (http://\S+)/v1;.* metrics are at (http://\S+)/metrics")


@dataclass
class Program:
    """A running `specmeter serve`."""

    process: Process
    url: str = ""
    admin_url: str = ""
    log: list[str] = field(default_factory=list)

    async def read_addresses(self) -> None:
        assert self.process.stderr is not None
        async with asyncio.timeout(20):
            async for line in self.process.stderr:
                self.log.append(line.decode())
                if match := LISTENS.search(self.log[-1]):
                    self.url, self.admin_url = match.groups()
                    return
        pytest.fail("".join(self.log))

    async def end(self, number: signal.Signals) -> int:
        """Send a signal, and give the exit code."""
        self.process.send_signal(number)
        return await self.ended()

    async def ended(self) -> int:
        async with asyncio.timeout(20):
            _, rest = await self.process.communicate()
        self.log.append(rest.decode())
        assert self.process.returncode is not None
        return self.process.returncode


@asynccontextmanager
async def serving(upstream: str) -> AsyncIterator[Program]:
    process = await specmeter(
        "serve", "--upstream", upstream, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
        "--log-level", "debug",
    )  # fmt: skip
    program = Program(process)
    try:
        await program.read_addresses()
        yield program
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def specmeter(*words: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "specmeter", *words, stdout=PIPE, stderr=PIPE
    )


async def get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as client, client.get(url) as response:
        return response.status, await response.text()


async def test_serves_meters_and_ends_on_sigterm(plain_llama: LlamaServer) -> None:
    """A client is served and metered, health is told, and SIGTERM ends with exit code 0."""
    async with serving(plain_llama.url) as program:

        async def is_ready() -> bool:
            return (await get(f"{program.admin_url}/readyz"))[0] == 200

        await until(is_ready)
        assert await get(f"{program.admin_url}/readyz") == (200, "default up\n")
        async with async_client(program.url) as client:
            answer = await client.chat.completions.create(**CHAT)
        assert answer.usage is not None
        _, text = await get(f"{program.admin_url}/metrics")
        generated = Page(text).total("specmeter_generated_tokens_total", model_name=MODEL)
        assert generated == answer.usage.completion_tokens

        admin = program.admin_url.removeprefix("http://")
        health = await specmeter("healthcheck", "--admin", admin)
        out, _ = await health.communicate()
        assert (health.returncode, out.decode().split(":")[0]) == (0, "alive")

        assert await program.end(signal.SIGTERM) == 0
        health = await specmeter("healthcheck", "--admin", admin)
        out, _ = await health.communicate()
        assert (health.returncode, out.decode().split(":")[0]) == (1, "not alive")
    log = "".join(program.log)
    assert "upstream default is llama_cpp" in log
    assert "Traceback" not in log
    for secret in (API_KEY, CHAT["messages"][0]["content"], answer.choices[0].message.content):
        assert secret not in log


async def test_running_stream_ends_whole_after_sigterm(plain_llama: LlamaServer) -> None:
    """SIGTERM lets a stream go on to its end, and takes no new connection meanwhile."""
    async with serving(plain_llama.url) as program, async_client(program.url) as client:
        async with await client.chat.completions.create(
            **CHAT | {"max_tokens": 128, "extra_body": {"ignore_eos": True}}, stream=True
        ) as stream:
            pieces = aiter(stream)
            await anext(pieces)
            program.process.send_signal(signal.SIGTERM)
            ending = asyncio.create_task(program.ended())
            await until(lambda: refuses(program.url))
            assert not ending.done()
            rest = [piece async for piece in pieces]
        assert rest[-1].choices[0].finish_reason == "length"
        assert await ending == 0
    assert "cut off" not in "".join(program.log)


async def refuses(url: str) -> bool:
    try:
        await get(f"{url}/health")
    except aiohttp.ClientConnectorError:
        return True
    return False
