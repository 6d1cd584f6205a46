"""The official client, as its users call it."""

from typing import Any

from openai import AsyncOpenAI, OpenAI

from tests.real.requests import COLOURS

API_KEY = "sk-of-the-client"
MODEL = "smollm2-135m"

CHAT: dict[str, Any] = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "Say hello."}],
    "max_tokens": 12,
    "temperature": 0,
    "seed": 1,
    "extra_body": {"cache_prompt": False},
}

ENDLESS: dict[str, Any] = CHAT | {"max_tokens": 512, "extra_body": {"ignore_eos": True}}
"""Ten seconds of generation, unless somebody ends it."""

TOO_LONG: dict[str, Any] = {"model": MODEL, "prompt": COLOURS * 40}
"""More than the context holds."""

USAGE: Any = {"include_usage": True}
"""The client's own types cannot tell that this, and the two below, are of theirs."""

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}

YES_OR_NO: Any = {
    "type": "json_schema",
    "json_schema": {
        "name": "yes_or_no",
        "schema": {
            "type": "object",
            "properties": {"yes": {"type": "boolean"}},
            "required": ["yes"],
            "additionalProperties": False,
        },
    },
}


def sync_client(url: str) -> OpenAI:
    """Make a client that tells every failure at once."""
    return OpenAI(base_url=f"{url}/v1", api_key=API_KEY, max_retries=0)


def async_client(url: str) -> AsyncOpenAI:
    """Make a client that tells every failure at once."""
    return AsyncOpenAI(base_url=f"{url}/v1", api_key=API_KEY, max_retries=0)
