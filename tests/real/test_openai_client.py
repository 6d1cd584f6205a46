"""The official OpenAI client cannot tell the proxy from the server."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from openai import OpenAI

from specmeter.demo.llama_server import LlamaServer
from tests.real.openai_client import (
    CHAT,
    MODEL,
    TOO_LONG,
    USAGE,
    WEATHER,
    YES_OR_NO,
    async_client,
    sync_client,
)
from tests.real.proxy import Proxy


def chat(client: OpenAI) -> Any:
    return client.chat.completions.create(**CHAT)


def chat_stream(client: OpenAI) -> Any:
    with client.chat.completions.create(**CHAT, stream=True) as stream:
        return list(stream)


def chat_stream_with_usage(client: OpenAI) -> Any:
    with client.chat.completions.create(**CHAT, stream=True, stream_options=USAGE) as stream:
        return list(stream)


def chat_with_tools(client: OpenAI) -> Any:
    return client.chat.completions.create(**CHAT, tools=[WEATHER], tool_choice="auto")


def chat_stream_with_required_tool(client: OpenAI) -> Any:
    with client.chat.completions.create(
        **CHAT, tools=[WEATHER], tool_choice="required", stream=True
    ) as stream:
        return list(stream)


def chat_with_schema(client: OpenAI) -> Any:
    answer = client.chat.completions.create(**CHAT | {"max_tokens": 40}, response_format=YES_OR_NO)
    assert list(json.loads(answer.choices[0].message.content or "")) == ["yes"]
    return answer


def text(client: OpenAI) -> Any:
    return client.completions.create(model=MODEL, prompt="One, two,", max_tokens=8, temperature=0)


def response(client: OpenAI) -> Any:
    return client.responses.create(model=MODEL, input="Say hello.", max_output_tokens=8)


def response_stream(client: OpenAI) -> Any:
    with client.responses.create(
        model=MODEL, input="Say hello.", max_output_tokens=8, stream=True
    ) as stream:
        return list(stream)


def models(client: OpenAI) -> Any:
    return list(client.models.list())


def embeddings(client: OpenAI) -> Any:
    return client.embeddings.create(model=MODEL, input="one")


def too_long(client: OpenAI) -> Any:
    return client.completions.create(**TOO_LONG)


def too_long_stream(client: OpenAI) -> Any:
    return client.completions.create(**TOO_LONG, stream=True)


def too_many_choices(client: OpenAI) -> Any:
    return client.chat.completions.create(**CHAT, n=99)


def files(client: OpenAI) -> Any:
    return client.files.list()


def plain(answer: Any) -> Any:
    """Give what the client made of an answer, without what is new in each."""
    if isinstance(answer, list):
        return [plain(one) for one in answer]
    if isinstance(answer, dict):
        return {key: plain(value) for key, value in answer.items() if key not in NEW_IN_EACH}
    return plain(answer.model_dump()) if hasattr(answer, "model_dump") else answer


NEW_IN_EACH = {"id", "item_id", "created", "created_at", "completed_at", "timings", "usage"}
"""Usage tells the cache, which the same request fills for the next."""


async def ask(url: str, use: Callable[[OpenAI], Any]) -> Any:
    with sync_client(url) as client:
        return plain(await asyncio.to_thread(use, client))


async def failure(url: str, use: Callable[[OpenAI], Any]) -> tuple[type, int, Any, str]:
    with pytest.raises(openai.APIStatusError) as caught:
        await ask(url, use)
    error = caught.value
    return type(error), error.status_code, error.body, error.message


@pytest.mark.parametrize(
    "use",
    [
        chat,
        chat_stream,
        chat_stream_with_usage,
        chat_with_tools,
        chat_stream_with_required_tool,
        chat_with_schema,
        text,
        models,
    ],
)
async def test_answers_are_the_servers(
    plain_llama: LlamaServer, plain_proxy: Proxy, use: Callable[[OpenAI], Any]
) -> None:
    """The client understands the proxy as it does the server."""
    proxied = await ask(plain_proxy.url, use)
    assert proxied
    assert proxied == await ask(plain_llama.url, use)
    assert len(await plain_proxy.ended()) == (use is not models)


@pytest.mark.parametrize("use", [response, response_stream])
async def test_responses_api_is_understood(
    plain_proxy: Proxy, use: Callable[[OpenAI], Any]
) -> None:
    """The client takes the responses API through the proxy, streamed or not."""
    answer = await ask(plain_proxy.url, use)
    last = answer[-1]["response"] if isinstance(answer, list) else answer
    assert last["status"] == "completed"
    assert last["output"][0]["content"][0]["text"]
    assert [one.endpoint for one in await plain_proxy.ended()] == ["/v1/responses"]


@pytest.mark.parametrize(
    ("use", "kind", "message"),
    [
        (embeddings, openai.InternalServerError, "does not support embeddings"),
        (too_long, openai.BadRequestError, "exceeds the available context size (2048 tokens)"),
        (too_long_stream, openai.BadRequestError, "exceeds the available context size"),
        (too_many_choices, openai.BadRequestError, "Field 'n'"),
        (files, openai.NotFoundError, "File Not Found"),
    ],
)
async def test_errors_are_the_servers(
    plain_llama: LlamaServer,
    plain_proxy: Proxy,
    use: Callable[[OpenAI], Any],
    kind: type,
    message: str,
) -> None:
    """The client raises what it would raise at the server, with the server's own message."""
    proxied = await failure(plain_proxy.url, use)
    assert proxied[0] is kind
    assert message in proxied[3]
    assert proxied == await failure(plain_llama.url, use)
    assert await plain_proxy.ended() == []


async def test_request_id_is_given_or_kept(plain_proxy: Proxy) -> None:
    """Every answer has a request id: the client's own if it sent one."""
    async with async_client(plain_proxy.url) as client:
        raw = client.chat.completions.with_raw_response
        made = await raw.create(**CHAT)
        kept = await raw.create(**CHAT, extra_headers={"X-Request-ID": "my-id"})
    assert made.headers["x-request-id"]
    assert made.parse()._request_id == made.headers["x-request-id"]
    assert kept.headers["x-request-id"] == "my-id"


async def test_async_client_streams(plain_llama: LlamaServer, plain_proxy: Proxy) -> None:
    """The asynchronous client gets the same pieces from the proxy as from the server."""
    pieces = []
    for url in (plain_llama.url, plain_proxy.url):
        async with (
            async_client(url) as client,
            await client.chat.completions.create(
                **CHAT, stream=True, stream_options=USAGE
            ) as stream,
        ):
            pieces.append([plain(piece) async for piece in stream])
    assert pieces[0] == pieces[1]
    assert len(pieces[1]) > 10


async def test_eight_requests_at_once(plain_proxy: Proxy) -> None:
    """Eight clients at once, streaming and not, are all answered and all counted."""
    before = await plain_proxy.server_counts()
    async with async_client(plain_proxy.url) as client:

        async def chat() -> int:
            answer = await client.chat.completions.create(**CHAT)
            return answer.usage.completion_tokens if answer.usage else 0

        async def stream() -> int:
            tokens = 0
            async with await client.chat.completions.create(
                **CHAT, stream=True, stream_options=USAGE
            ) as pieces:
                async for piece in pieces:
                    tokens += piece.usage.completion_tokens if piece.usage else 0
            return tokens

        tokens = await asyncio.gather(*(chat() if index % 2 else stream() for index in range(8)))
    assert min(tokens) > 0
    gained = (await plain_proxy.server_counts()).since(before)
    page = await plain_proxy.page()
    assert page.total("specmeter_completions_total") == 8
    assert page.total("specmeter_requests_total", code="200", endpoint="/v1/chat/completions") == 8
    assert page.total("specmeter_generated_tokens_total") == gained.generated == sum(tokens)
