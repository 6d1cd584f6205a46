"""The demo's own client: an ordinary OpenAI client, as far as the proxy can tell."""

from typing import Any

import aiohttp
import orjson

from specmeter.demo.prompts import Prompt
from specmeter.errors import SpecmeterError

_DATA = b"data: "


async def ask(
    client: aiohttp.ClientSession, base_url: str, model_name: str, prompt: Prompt
) -> int | None:
    """Send one prompt and read the answer to its end.

    Returns:
        The answer's `usage.completion_tokens`; None if it has none.

    Raises:
        SpecmeterError: the answer is no completion, or the connection broke.
    """
    url = f"{base_url}/v1/chat/completions"
    try:
        async with client.post(url, json=prompt.body(model_name)) as response:
            body = await response.read()
            status = response.status
    except aiohttp.ClientError as error:
        raise SpecmeterError(f"the demo's request to {model_name} failed: {error}") from error
    if status != 200:  # noqa: PLR2004
        shown = body[:500].decode(errors="replace")
        raise SpecmeterError(f"the demo's request to {model_name} got HTTP {status}: {shown}")
    return _completion_tokens(body, streamed=prompt.streamed)


def _completion_tokens(body: bytes, *, streamed: bool) -> int | None:
    if not streamed:
        return _usage(orjson.loads(body))
    tokens = None
    for line in body.splitlines():
        if line.startswith(_DATA) and not line.endswith(b"[DONE]"):
            tokens = _usage(orjson.loads(line.removeprefix(_DATA))) or tokens
    return tokens


def _usage(answer: dict[str, Any]) -> int | None:
    tokens: int | None = (answer.get("usage") or {}).get("completion_tokens")
    return tokens
