"""Specmeter in front of a server that speculates, with a plain one to compare with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from specmeter.config import Settings, Upstream
from specmeter.meter.completion import Completion
from specmeter.service import Service
from tests.gateway.client import CHAT
from tests.gateway.proxy import ANY_PORT, Proxy, until
from tests.scripted import Request, Script, ScriptedUpstream


@asynccontextmanager
async def compared(
    spec_url: str, plain_url: str, *, state_file: str = "", workers: int = 1, **of_spec: Any
) -> AsyncIterator[Proxy]:
    """Run specmeter with the upstreams `spec` and `plain`.

    Args:
        spec_url: The server that speculates.
        plain_url: The one that does not.
        state_file: As the configuration has it.
        workers: The same.
        of_spec: Keys of Upstream for `spec`.
    """
    seen: list[Completion] = []
    upstreams = (
        Upstream(name="spec", url=spec_url, plain="plain", **of_spec),
        Upstream(name="plain", url=plain_url),
    )
    settings = Settings(
        upstream=upstreams,
        listen=ANY_PORT,
        admin=ANY_PORT,
        drain_seconds=1.0,
        probe_seconds=3600.0,
        state_file=state_file,
        workers=workers,
    )
    service = Service(settings, [seen.append])
    await service.start()
    try:
        await until(lambda: all(one.up is not None for one in service.upstreams.all))
        yield Proxy(service, seen)
    finally:
        await service.stop()


def plain_server(script: Script) -> ScriptedUpstream:
    """Return a server that answers chat requests by script, specmeter's own too."""
    return ScriptedUpstream(scripts={CHAT: script})


def held_out(plain: ScriptedUpstream) -> list[Request]:
    """Return the requests of clients that a plain server got."""
    return [one for one in plain.requests if not one.is_specmeters]


def request(**more: Any) -> bytes:
    """Return a chat request."""
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 100}
    return orjson.dumps(asked | more)


def completion(
    text: str = "a", *, tokens: int = 41, milliseconds: float = 800.0, drafted: int | None = None
) -> bytes:
    """Return llama.cpp's answer to it: 41 tokens in 0.8 s are 20 ms each after the first one."""
    timings: dict[str, float] = {
        "cache_n": 0,
        "prompt_n": 100,
        "predicted_n": tokens,
        "predicted_ms": milliseconds,
    }
    if drafted is not None:
        timings |= {"draft_n": drafted, "draft_n_accepted": drafted // 2}
    return orjson.dumps(
        {
            "object": "chat.completion",
            "model": "m",
            "system_fingerprint": "b1-abcdef1",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": tokens},
            "timings": timings,
        }
    )
