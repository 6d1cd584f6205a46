"""The speedup of live traffic, by each source of plain speed, beside what `compare` measures."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from specmeter.config import Settings, Upstream
from specmeter.demo.llama_server import LlamaServer
from specmeter.meter.completion import Completion
from specmeter.service import Service
from specmeter.speedup.baseline import Source
from specmeter.speedup.interval import Sums, Verdict, speedup

PROMPTS = (
    "List thirty fruits, separated by commas.",
    "Repeat this code ten times:\n\ndef f(a):\n    return a+1\n",
    "Write a short story about a lighthouse keeper and the first snow.",
)


@dataclass(frozen=True)
class Found:
    """A speedup and where the truth may lie."""

    ratio: float
    low: float
    high: float
    verdict: Verdict
    completions: int

    def agrees_with(self, other: Found) -> bool:
        """Whether both lie within the sum of their intervals' halves."""
        if self.ratio > other.ratio:
            return other.agrees_with(self)
        return other.ratio - self.ratio <= (self.high - self.ratio) + (other.ratio - other.low)

    def __str__(self) -> str:
        return f"{self.ratio:.2f} ({self.low:.2f} to {self.high:.2f})"


async def specmeter(*words: str) -> bytes:
    """Run a command; return what it writes."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "specmeter", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out


async def compared(
    spec: LlamaServer, plain: LlamaServer, folder: Path, *, tokens: int, repeats: int
) -> Found:
    """Run `specmeter compare` on the prompts."""
    prompts = folder / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": one}) + "\n" for one in PROMPTS))
    written = await specmeter(
        *("compare", "--spec", spec.url, "--plain", plain.url, "--prompts", str(prompts)),
        *("--lengths", str(tokens), "--repeat", str(repeats), "--json"),
    )
    overall: dict[str, Any] = json.loads(written)["overall"]
    return Found(
        overall["speedup"],
        overall["worst_case"],
        overall["best_case"],
        Verdict(overall["verdict"]),
        repeats * len(PROMPTS),
    )


async def options(source: Source, plain: LlamaServer, folder: Path, tokens: int) -> dict[str, Any]:
    """Return what the configuration says for a source; measures what it needs."""
    if source is Source.SHADOW:
        return {"plain": "plain", "shadow": 1.0, "shadow_per_minute": 6000.0}
    if source is Source.HOLDOUT:
        return {"plain": "plain", "holdout": 0.5}
    file = folder / "plain.json"
    await specmeter(
        *("baseline", "--upstream", plain.url, "--out", str(file)),
        *("--contexts", "64,128", "--concurrency", "1", "--repeats", "3"),
        *("--tokens", str(tokens)),
    )
    return {"baseline_file": str(file)}


@asynccontextmanager
async def live(
    spec: LlamaServer, plain: LlamaServer, of_spec: dict[str, Any]
) -> AsyncIterator[Live]:
    """Run specmeter in front of both servers."""
    seen: list[Completion] = []
    upstreams = (
        Upstream(name="spec", url=spec.url, **of_spec),
        Upstream(name="plain", url=plain.url, models=() if "plain" in of_spec else ("none",)),
    )
    settings = Settings(upstream=upstreams, listen="127.0.0.1:0", admin="127.0.0.1:0")
    service = Service(settings, observers=[seen.append])
    await service.start()
    try:
        async with aiohttp.ClientSession() as client:
            yield Live(service, client, seen)
    finally:
        await service.stop()


class Live:
    """Traffic through a running proxy."""

    def __init__(
        self, service: Service, client: aiohttp.ClientSession, seen: Sequence[Completion]
    ) -> None:
        self._service = service
        self._client = client
        self.seen = seen
        self._model = ""

    async def ask(self, prompt: str, tokens: int) -> None:
        """Ask for one completion, and wait until it is counted and replayed."""
        count = len(self.seen)
        upstreams = self._service.upstreams
        async with asyncio.timeout(60):
            while not all(one.models for one in upstreams.all):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)
            self._model = self._model or next(iter(upstreams.first.models))
            asked = {
                "model": self._model,
                "messages": [{"role": "user", "content": prompt}],
                "max_tokens": tokens,
                "temperature": 0,
                "stream": True,
            }
            url = f"{self._service.data_url}/v1/chat/completions"
            async with self._client.post(url, json=asked) as response:
                assert response.status == 200
                await response.read()
            while len(self.seen) == count or self._is_replaying:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)

    @property
    def _is_replaying(self) -> bool:
        return any(one.load.under_way for one in self._service.upstreams.all) or any(
            replayer._waiting for replayer in self._service._plain._replayers.values()
        )

    def found(self, source: Source) -> Found | None:
        """Return the speedup of what was compared with a source; `None` without an interval."""
        estimates = [one.estimate for one in self.seen if one.estimate]
        sums = sum((one.sums for one in estimates if one.source is source), Sums())
        told = speedup(sums)
        if told is None or told.interval is None:
            return None
        return Found(told.ratio, told.interval.low, told.interval.high, told.verdict, sums.count)


async def live_speedup(
    spec: LlamaServer,
    plain: LlamaServer,
    source: Source,
    folder: Path,
    *,
    tokens: int,
    compared_completions: int,
) -> tuple[Found, int]:
    """Send the prompts in turn until so many completions were compared.

    Returns:
        The speedup, and how many requests it took until it was said to be slower; 0 for never.
    """
    said_slower = 0
    async with live(spec, plain, await options(source, plain, folder, tokens)) as traffic:
        for number in range(20 * compared_completions):
            await traffic.ask(PROMPTS[number % len(PROMPTS)], tokens)
            found = traffic.found(source)
            if found and found.verdict is Verdict.SLOWER and not said_slower:
                said_slower = number + 1
            if found and found.completions >= compared_completions:
                return found, said_slower
    raise AssertionError(f"no {compared_completions} completions were compared with {source}")
