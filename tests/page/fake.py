"""A server that answers like llama.cpp, at once, with names and numbers as a test wants them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from specmeter.config import Upstream
from tests.page.states import Shown, proxy
from tests.real.proxy import until

OUTPUT = "what the model has written"
PROMPT = "what the client has asked"


@dataclass
class FakeLlama:
    """What it answers with."""

    models: Sequence[str] = ("m",)
    build: str = "b1234-abcdef0"
    headers: dict[str, str] = field(default_factory=dict)
    timings: dict[str, Any] = field(
        default_factory=lambda: {
            "prompt_n": 12,
            "predicted_n": 100,
            "predicted_ms": 1000.0,
            "draft_n": 80,
            "draft_n_accepted": 60,
        }
    )
    status: int = 200
    url: str = ""

    async def list_models(self, _: web.Request) -> web.Response:
        data = [{"id": name, "owned_by": "llamacpp"} for name in self.models]
        return _json({"object": "list", "data": data}, self.headers)

    async def slots(self, _: web.Request) -> web.Response:
        return _json([{"id": 0, "is_processing": False, "speculative": True}], self.headers)

    async def complete(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if self.status != 200:
            return web.Response(status=self.status, text="no")
        body = {
            "object": "chat.completion",
            "model": asked.get("model", self.models[0]),
            "system_fingerprint": self.build,
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"content": OUTPUT}},
            ],
            "usage": {"prompt_tokens": 12, "completion_tokens": self.timings["predicted_n"]},
            "timings": self.timings,
        }
        return _json(body, self.headers)


def _json(what: object, headers: dict[str, str]) -> web.Response:
    return web.Response(body=orjson.dumps(what), content_type="application/json", headers=headers)


@asynccontextmanager
async def fake_llama(**what: Any) -> AsyncIterator[FakeLlama]:
    """Run the server until the block is left."""
    fake = FakeLlama(**what)
    app = web.Application()
    app.router.add_get("/v1/models", fake.list_models)
    app.router.add_get("/slots", fake.slots)
    app.router.add_post("/v1/chat/completions", fake.complete)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield fake
    finally:
        await runner.cleanup()


@asynccontextmanager
async def before(
    fake: FakeLlama, *, admin_keys_file: str = "", **more: Any
) -> AsyncIterator[Shown]:
    """Run the proxy in front of it, with a number for a baseline: 60 tokens a second."""
    settings: dict[str, Any] = {"plain_tokens_per_second": 60.0, "name": "fake"} | more
    upstream = Upstream(url=fake.url, **settings)
    async with proxy(upstream, admin_keys_file=admin_keys_file) as shown:
        yield shown


async def send(shown: Shown, times: int = 1, model: str | None = None) -> None:
    """Ask for completions, one after the other, until all are metered."""
    body: dict[str, Any] = {"messages": [{"role": "user", "content": PROMPT}]}
    if model is not None:
        body["model"] = model
    history = shown.service.history
    least = history.number + times
    async with aiohttp.ClientSession() as client:
        for _ in range(times):
            url = f"{shown.service.data_url}/v1/chat/completions"
            async with client.post(url, json=body) as response:
                await response.read()

    async def are_metered() -> bool:
        return history.number >= least

    await until(are_metered)
