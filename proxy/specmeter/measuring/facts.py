"""What a server says of itself before it is measured."""

from __future__ import annotations

import os
from typing import Any

import aiohttp
import msgspec
import orjson

from specmeter.asking import Server
from specmeter.backends import Backend, recognise
from specmeter.backends.ik_llama import IkLlama
from specmeter.backends.llama_cpp import LlamaCpp, slots_speculate
from specmeter.backends.vllm import Vllm
from specmeter.errors import SpecmeterError

_TIMEOUT_SECONDS = 10.0
_REFUSED = frozenset((401, 403))
_OK = 200


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a server; `None` where it does not say."""

    backend: Backend | None = None
    models: tuple[str, ...] = ()
    """In its own order."""
    window: int | None = None
    """Tokens that a request may have, prompt and output together."""
    slots: int | None = None
    """Requests that it works on at the same time."""
    speculates: bool | None = None
    """Whether speculation is configured."""


async def look_up(session: aiohttp.ClientSession, server: Server, model: str | None) -> Facts:
    """Ask a server what it is.

    Args:
        session: Of the caller.
        server: Whom to ask.
        model: Whose window is wanted; None takes the first one.

    Raises:
        SpecmeterError: It does not answer, or wants a key.
    """
    listed = _json(await _page(session, server, "/v1/models", needed=True))
    data = _dicts(listed.get("data"))
    backend = server.backend or recognise(data)
    names = tuple(name for one in data if isinstance(name := one.get("id"), str) and name)
    entry = next((one for one in data if one.get("id") == model), data[0] if data else {})
    window = _positive(entry.get("max_model_len")) or _positive(_dict(entry, "meta").get("n_ctx"))
    slots = speculates = None
    if isinstance(backend, LlamaCpp | IkLlama):
        props = _json(await _page(session, server, "/props"))
        slots = _positive(props.get("total_slots"))
        window = _positive(_dict(props, "default_generation_settings").get("n_ctx")) or window
        speculates = slots_speculate(await _page(session, server, "/slots"))
    elif isinstance(backend, Vllm):
        page = await _page(session, server, "/metrics")
        # Its counters of drafting are there only if a drafter is configured.
        speculates = b"vllm:spec_decode_" in page if b"vllm:generation_tokens" in page else None
    return Facts(backend=backend, models=names, window=window, slots=slots, speculates=speculates)


async def _page(
    session: aiohttp.ClientSession, server: Server, path: str, *, needed: bool = False
) -> bytes:
    """Return a page; empty if there is none, or it cannot be had and is not needed."""
    headers = {"Authorization": f"Bearer {server.key}"} if server.key else {}
    try:
        async with session.get(
            server.base_url + path,
            headers=headers,
            ssl=server.tls or True,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS),
        ) as response:
            if needed and response.status in _REFUSED:
                raise SpecmeterError(
                    f"{server.base_url} answered HTTP {response.status}: "
                    "name a file with its key by --api-key-file"
                )
            return await response.read() if response.status == _OK else b""
    except TimeoutError:
        reason = f"no answer within {_TIMEOUT_SECONDS:g} s"
    except (aiohttp.ClientError, OSError) as error:
        reason = _why(error)
    if needed:
        raise SpecmeterError(f"{server.base_url}: {reason}: is the server running?") from None
    return b""


def _why(error: Exception) -> str:
    # The loop writes the address into the text, which stands in front of it already.
    number = getattr(error, "errno", None)
    if isinstance(number, int) and number > 0:
        return os.strerror(number).lower()
    return str(getattr(error, "strerror", None) or error) or type(error).__name__


def _json(page: bytes) -> dict[str, Any]:
    try:
        read = orjson.loads(page)
    except orjson.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _dict(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _positive(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None
