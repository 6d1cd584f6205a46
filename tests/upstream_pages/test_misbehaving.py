"""Pages that cannot be had: counted, said once, and never in the way of the traffic."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from specmeter.upstream_pages import Page
from specmeter.upstream_pages.base import Samples
from specmeter.upstream_pages.vllm import VllmPage
from tests.gateway.client import CHAT, chat
from tests.gateway.proxy import running, until
from tests.ports import closed_port
from tests.replay import capture, model_list
from tests.scripted import (
    Call,
    Script,
    ScriptedUpstream,
    answer,
    answer_and_close,
    answer_and_reset,
    head,
    response,
)
from tests.upstream_pages.pages import VLLM_ENGINES, captured
from tests.upstream_pages.served import (
    OFTEN,
    TEXT,
    failed,
    hang,
    has_numbers,
    page,
    scraping,
    status,
    until_shown,
)

LLAMA = "llama_cpp/draft-simple"
NOT_ENABLED = b'{"error":{"code":501,"message":"This server does not support metrics endpoint."}}'
PAGE = VLLM_ENGINES.encode()
WHOLE_LENGTH = (b"Content-Length", b"%d" % len(PAGE))
MIB = b"#" * (1024 * 1024 - 1) + b"\n"
LARGE = 50

SCRIPTS: dict[str, tuple[Script, str]] = {
    "not enabled": (status("501 Not Implemented", NOT_ENABLED), "no_page"),
    "not found": (status("404 Not Found"), "no_page"),
    "no key": (status("401 Unauthorized"), "refused"),
    "forbidden": (status("403 Forbidden"), "refused"),
    "loading": (status("503 Service Unavailable"), "bad_status"),
    "moved": (answer(head("307 Temporary Redirect", (b"Location", b"/metrics/"))), "bad_status"),
    "html": (page(b"<!DOCTYPE html>\n<html><body>hello</body></html>\n"), "not_metrics"),
    "json": (page(b'[{"iter":1}]\n'), "not_metrics"),
    "another server's": (page(captured(LLAMA)), "not_metrics"),
    "cut in a line": (page(PAGE[:-5]), "damaged"),
    "twice": (page(PAGE * 2), "damaged"),
    "not a number": (page(PAGE.replace(b" 372.0", b" NaN")), "impossible_number"),
    "negative": (page(PAGE.replace(b" 372.0", b" -372.0")), "impossible_number"),
    "short": (answer_and_close(head("200 OK", TEXT, WHOLE_LENGTH), PAGE[:100]), "broken_off"),
    "reset": (answer_and_reset(head("200 OK", TEXT, WHOLE_LENGTH), PAGE[:100]), "broken_off"),
    "no HTTP": (answer_and_close(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"), "broken_off"),
    "closed": (answer_and_close(), "broken_off"),
}


async def traffic_passes(url: str) -> None:
    """Ask for completions, one after the other and at the same time."""
    answers = [await chat(url), *await asyncio.gather(*(chat(url) for _ in range(8)))]
    assert [one.status for one in answers] == [200] * 9
    assert {one.body for one in answers} == {capture("vllm/chat").body}


@pytest.mark.parametrize("name", SCRIPTS)
async def test_a_page_that_cannot_be_had(upstream: ScriptedUpstream, name: str) -> None:
    """The failure is counted by its reason, completions pass, and a good page is read again."""
    script, reason = SCRIPTS[name]
    upstream.scripts |= {"/metrics": script, CHAT: answer(response(capture("vllm/chat").body))}
    options: dict[str, Any] = {"scrape": True, "scrape_seconds": OFTEN, "backend": "vllm"}
    async with running(upstream.url, **options) as proxy:
        metrics = await until_shown(proxy, lambda m: failed(m, reason))
        assert has_numbers(metrics) == (reason == "impossible_number")
        await traffic_passes(proxy.url)
        upstream.scripts["/metrics"] = page(PAGE)
        generated = "upstream_generated_tokens_total"
        metrics = await until_shown(proxy, lambda m: m.total(generated) == 400)
        assert failed(metrics, reason)


async def test_a_number_that_cannot_be_true_spoils_no_other(upstream: ScriptedUpstream) -> None:
    """The rest of the page is shown."""
    upstream.scripts["/metrics"] = page(PAGE.replace(b" 372.0", b" NaN"))
    async with running(upstream.url, scrape=True, backend="vllm") as proxy:
        metrics = await until_shown(proxy, has_numbers)
        assert metrics.total("upstream_generated_tokens_total") == 28
        assert metrics.total("upstream_prompt_tokens_total") == 750


async def test_a_server_that_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    """A refused connection is counted and told, and the proxy goes on."""
    with closed_port() as port:
        url = f"http://127.0.0.1:{port}"
        options: dict[str, Any] = {"scrape": True, "scrape_seconds": OFTEN, "backend": "vllm"}
        async with running(url, **options) as proxy:
            await until_shown(proxy, lambda m: failed(m, "cannot_connect"))
            assert (await chat(proxy.url)).status == 502
        assert f"its own metrics at {url} cannot be read: connection refused" in caplog.text


async def test_a_page_that_never_comes(upstream: ScriptedUpstream) -> None:
    """Completions pass meanwhile, and stopping does not wait for the page."""
    upstream.scripts |= {"/metrics": hang, CHAT: answer(response(capture("vllm/chat").body))}
    async with running(upstream.url, scrape=True, backend="vllm") as proxy:
        await until(lambda: bool(upstream.requests))
        await traffic_passes(proxy.url)
        looks = [one for one in upstream.requests if one.target == b"/metrics"]
        assert len(looks) == 1


async def test_a_page_that_takes_too_long(upstream: ScriptedUpstream) -> None:
    """It is given up, counted, and asked for again."""
    upstream.scripts["/metrics"] = hang
    async with scraping(upstream.url, "vllm", timeout_seconds=0.05) as metrics:
        await until(lambda: failed(metrics(), "timeout"))
        upstream.scripts["/metrics"] = page(PAGE)
        await until(lambda: has_numbers(metrics()))


async def test_a_page_that_trickles(upstream: ScriptedUpstream) -> None:
    """Bytes that go on coming do not make it last for longer than it may."""

    async def trickle(call: Call) -> None:
        await call.send(head("200 OK", TEXT))
        while True:
            await call.send(b"#\n")
            await asyncio.sleep(0.005)

    upstream.scripts["/metrics"] = trickle
    async with scraping(upstream.url, "vllm", timeout_seconds=0.05) as metrics:
        await until(lambda: failed(metrics(), "timeout"))


async def test_a_page_without_end() -> None:
    """Of 50 MB only so much is fetched as a page may have."""
    calls = []

    async def large(call: Call) -> None:
        calls.append(call)
        call.limit_buffers()
        await call.send(head("200 OK", TEXT), *[MIB] * LARGE)

    async with ScriptedUpstream(send_buffer=65536) as upstream:
        upstream.scripts |= {"/metrics": large, CHAT: answer(response(capture("vllm/chat").body))}
        async with running(upstream.url, scrape=True, backend="vllm") as proxy:
            metrics = await until_shown(proxy, lambda m: failed(m, "too_large"))
            assert not has_numbers(metrics)
            await traffic_passes(proxy.url)
        assert calls[0].sent < LARGE * len(MIB) // 2


class FaultyOnce(VllmPage):
    """Reads pages, all but the first."""

    def __init__(self, text: str) -> None:
        self._faults = [RuntimeError(text)]

    def read(self, samples: Samples) -> Page:
        if self._faults:
            raise self._faults.pop()
        return super().read(samples)


async def test_a_fault_of_the_scraper_itself(
    upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """It is counted, told without a piece of the page, and the next look is a new one."""
    upstream.scripts["/metrics"] = page(PAGE)
    pages = {"vllm": FaultyOnce("a piece of the page")}
    async with scraping(upstream.url, "vllm", pages=pages) as metrics:
        await until(lambda: has_numbers(metrics()))
        assert failed(metrics(), "scraper_failed")
    assert "RuntimeError" in caplog.text
    assert "a piece of the page" not in caplog.text


class TestLog:
    async def looks(self, upstream: ScriptedUpstream, kind: str, script: Script) -> None:
        """Let a page be asked for several times."""
        upstream.models = model_list(f"{LLAMA}/chat")
        upstream.scripts["/metrics"] = script
        async with scraping(upstream.url, kind):
            await until(lambda: len(upstream.requests) > 5)

    @pytest.mark.parametrize(
        ("kind", "line", "remedy"),
        [
            ("llama_cpp", "501 Not Implemented", "HTTP 501: start llama-server with --metrics"),
            ("sglang", "404 Not Found", "HTTP 404: start SGLang with --enable-metrics"),
            ("vllm", "401 Unauthorized", "HTTP 401: name a file with the server's key in"),
        ],
    )
    async def test_what_is_wrong_is_said_once(
        self,
        upstream: ScriptedUpstream,
        caplog: pytest.LogCaptureFixture,
        kind: str,
        line: str,
        remedy: str,
    ) -> None:
        """The log names the upstream, what it answered and what helps, once for all looks."""
        await self.looks(upstream, kind, status(line))
        warnings = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
        assert len(warnings) == 1
        assert warnings[0].startswith(f"upstream default: its own metrics at {upstream.url} ")
        assert remedy in warnings[0]

    async def test_a_page_that_comes_back_is_said_too(
        self, upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Whoever was told that it fails is told that it works again."""
        upstream.scripts["/metrics"] = status("503 Service Unavailable")
        with caplog.at_level(logging.INFO, "specmeter"):
            async with scraping(upstream.url, "vllm") as metrics:
                await until(lambda: "HTTP 503" in caplog.text)
                upstream.scripts["/metrics"] = page(PAGE)
                await until(lambda: has_numbers(metrics()))
                await until(lambda: "are read" in caplog.text)
