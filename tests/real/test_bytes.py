"""A client gets through the proxy what it would get from the server itself, byte for byte."""

import re
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from specmeter.demo.llama_server import LlamaServer
from tests.real.proxy import Proxy
from tests.real.requests import USAGE, chat, responses, text

HELLO = "Say hello to the moon."
SAME = {"cache_prompt": False, "id_slot": 0, "max_tokens": 10}
"""Has the second request done exactly like the first, and both soon."""

CONNECTION_HEADERS = {"connection", "keep-alive"}


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str | None
    headers: list[tuple[str, str]]
    """Those about the answer, by name."""
    body: bytes


async def ask(url: str, method: str, path: str, **request: Any) -> Answer:
    """Ask on a new connection, and take the answer as it comes."""
    async with (
        aiohttp.ClientSession(auto_decompress=False) as client,
        client.request(method, url + path, allow_redirects=False, **request) as response,
    ):
        headers = [(name.decode().lower(), value.decode()) for name, value in response.raw_headers]
        return Answer(
            response.status,
            response.reason,
            sorted(header for header in headers if header[0] not in CONNECTION_HEADERS),
            await response.read(),
        )


def without_request_id(answer: Answer) -> Answer:
    """Take out the one header that the proxy adds."""
    kept = [header for header in answer.headers if header[0] != "x-request-id"]
    assert len(kept) == len(answer.headers) - 1
    return Answer(answer.status, answer.reason, kept, answer.body)


def timeless(answer: Answer) -> Answer:
    """Blank what is new in every answer: its ids, times, and so its length."""
    body = re.sub(rb'"(id|item_id)":"\w+[-_]\w{32}"', rb'"\1":0', answer.body)
    body = re.sub(rb'"(created|created_at|completed_at)":\d+', rb'"\1":0', body)
    body = re.sub(rb'("\w+_(ms|per_second)"):[\d.e+-]+', rb"\1:0", body)
    headers = [header for header in answer.headers if header[0] != "content-length"]
    return Answer(answer.status, answer.reason, headers, body)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", chat(HELLO)),
        ("/v1/chat/completions", chat(HELLO, stream=True)),
        ("/v1/chat/completions", chat(HELLO, stream=True, **USAGE)),
        ("/v1/chat/completions", chat(HELLO, stream=True, timings_per_token=True)),
        ("/v1/chat/completions", chat(HELLO, logprobs=True, top_logprobs=2)),
        ("/v1/completions", text(HELLO)),
        ("/v1/completions", text(HELLO, stream=True, stop=["e"])),
        ("/completion", text(HELLO)),
        ("/completion", text(HELLO, stream=True, return_progress=True)),
        ("/v1/responses", responses(HELLO)),
        ("/v1/responses", responses(HELLO, stream=True)),
        ("/v1/messages", chat(HELLO)),
        ("/v1/messages", chat(HELLO, stream=True)),
    ],
)
async def test_completions_pass_unchanged(
    plain_llama: LlamaServer, plain_proxy: Proxy, path: str, body: dict[str, Any]
) -> None:
    """A completion comes as from the server, but for its id and what the clock says."""
    body = body | SAME
    direct = await ask(plain_llama.url, "POST", path, json=body)
    proxied = await ask(plain_proxy.url, "POST", path, json=body)
    assert direct.status == 200
    assert timeless(without_request_id(proxied)) == timeless(direct)
    assert plain_proxy.completions[-1].streamed is body.get("stream", False)


OTHERS: list[tuple[str, str, dict[str, Any], int]] = [
    ("GET", "/", {}, 200),
    ("GET", "/", {"headers": {"Accept-Encoding": "identity"}}, 415),
    ("GET", "/health", {}, 200),
    ("HEAD", "/health", {}, 200),
    ("GET", "/props", {}, 200),
    ("GET", "/slots", {}, 200),
    ("GET", "/metrics", {}, 200),
    ("GET", "/v1/models", {}, 200),
    ("POST", "/tokenize", {"json": {"content": "one two"}}, 200),
    ("POST", "/tokenize", {"json": {"content": "megabyte " * 100_000}}, 200),
    ("OPTIONS", "/v1/chat/completions", {"headers": {"Origin": "http://page.example"}}, 200),
    ("GET", "/no/such/path?with=query", {}, 404),
    ("GET", "/v1/chat/completions", {}, 404),
    ("DELETE", "/v1/chat/completions", {}, 404),
    ("PUT", "/v1/chat/completions", {"json": chat(HELLO)}, 404),
    ("POST", "/v1/chat/completions", {"data": b'{"messages": ['}, 400),
    ("POST", "/v1/chat/completions", {"data": b""}, 400),
    ("POST", "/v1/chat/completions", {"json": chat(HELLO, n=99)}, 400),
    ("POST", "/v1/completions", {"json": text("one two " * 2000)}, 400),
    ("POST", "/v1/completions", {"json": text("one two " * 2000, stream=True)}, 400),
    ("POST", "/v1/embeddings", {"json": {"input": "one"}}, 501),
    ("POST", "/infill", {"json": {"input_prefix": "a", "input_suffix": "b"}}, 501),
]


@pytest.mark.parametrize("other", OTHERS)
async def test_everything_else_passes_unchanged(
    plain_llama: LlamaServer, plain_proxy: Proxy, other: tuple[str, str, dict[str, Any], int]
) -> None:
    """Pages, health and errors come with the server's status, headers and bytes."""
    method, path, request, status = other
    await ask(plain_llama.url, "GET", "/metrics")  # the first of several resets its gauges
    direct = await ask(plain_llama.url, method, path, **request)
    proxied = await ask(plain_proxy.url, method, path, **request)
    assert direct.status == status
    if path == "/v1/models":
        direct, proxied = timeless(direct), timeless(proxied)
    assert without_request_id(proxied) == direct
    assert plain_proxy.completions == []


async def test_web_page_works_behind_the_proxy(
    plain_llama: LlamaServer, plain_proxy: Proxy
) -> None:
    """The server's own page comes compressed as it is, with its megabytes of script."""
    async with plain_proxy.client.get(plain_proxy.url) as response:
        script = re.search(r'href="\.(/\S+\.js)"', await response.text())
    assert script is not None
    direct = await ask(plain_llama.url, "GET", script[1])
    assert ("content-encoding", "gzip") in direct.headers
    assert len(direct.body) > 1_000_000
    assert without_request_id(await ask(plain_proxy.url, "GET", script[1])) == direct


async def test_unchanged_page_is_not_sent_again(plain_proxy: Proxy) -> None:
    """A browser that has the page already is told so (304), and the connection goes on."""
    client = plain_proxy.client
    async with client.get(plain_proxy.url) as response:
        tag = response.headers["Etag"]
    async with client.get(plain_proxy.url, headers={"If-None-Match": tag}) as response:
        assert response.status == 304
        assert await response.read() == b""
    async with client.get(f"{plain_proxy.url}/health") as response:
        assert await response.json() == {"status": "ok"}
