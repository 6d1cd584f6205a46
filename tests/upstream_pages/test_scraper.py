"""The scraper in front of real servers: what is shown of their pages."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.client import CHAT, ask, chat
from tests.gateway.proxy import Metrics, running, until
from tests.replay import CAPTURES, capture, model_list
from tests.scripted import Call, ScriptedUpstream, answer, response
from tests.upstream_pages.pages import SGLANG, TRTLLM, VLLM_ENGINES, captured, llama_cpp
from tests.upstream_pages.served import (
    OFTEN,
    hang,
    has_numbers,
    page,
    scraping,
    status,
    until_shown,
)

LLAMA = "llama_cpp/draft-simple"
ACCEPTED = "upstream_spec_decode_num_accepted_tokens_total"
GENERATED = "upstream_generated_tokens_total"
PER_POSITION = "upstream_spec_decode_num_accepted_tokens_per_pos_total"
RUNNING = "upstream_num_requests_running"


def shows(name: str, total: float, metrics: Metrics) -> bool:
    return metrics.total(name) == total


async def test_llama_cpp(upstream: ScriptedUpstream) -> None:
    """Its page is shown under the name of its model, with as many positions as are allowed."""
    upstream.models = model_list(f"{LLAMA}/chat")
    upstream.scripts["/metrics"] = page(captured(LLAMA))
    async with running(upstream.url, scrape=True, scrape_seconds=OFTEN, position_limit=2) as proxy:
        metrics = await until_shown(proxy, has_numbers)
        model = {"upstream": "default", "model_name": "smollm2-135m"}
        shown = {
            "upstream_spec_decode_num_drafts_total": 194,
            "upstream_spec_decode_num_draft_tokens_total": 569,
            ACCEPTED: 555,
            GENERATED: 764,
            "upstream_prompt_tokens_total": 884,
        }
        assert {name: metrics.total(name, **model) for name in shown} == shown
        assert metrics.by(PER_POSITION, "position") == {"0": 191, "1": 189}
        assert metrics.total(RUNNING, **model) == 0
        assert metrics.total("upstream_scrape_timestamp_seconds", upstream="default")
        assert metrics.by("upstream_scrape_failures_total", "reason") == {}


async def test_vllm(upstream: ScriptedUpstream) -> None:
    """Its page is shown in the same words."""
    upstream.models = (CAPTURES / "vllm" / "models.json").read_bytes()
    upstream.scripts["/metrics"] = page(captured("vllm"))
    async with running(upstream.url, scrape=True, scrape_seconds=OFTEN) as proxy:
        metrics = await until_shown(proxy, has_numbers)
        assert metrics.total(ACCEPTED, model_name="smol") == 179
        assert metrics.total("upstream_spec_decode_num_drafts_total", model_name="smol") == 65
        assert metrics.total("upstream_speculation", state="configured") == 1


async def test_vllm_without_speculation(upstream: ScriptedUpstream) -> None:
    """A page without series of drafts is that of a server that does not speculate."""
    upstream.models = (CAPTURES / "vllm" / "models.json").read_bytes()
    lines = captured("vllm").splitlines(keepends=True)
    upstream.scripts["/metrics"] = page(b"".join(x for x in lines if b"spec_decode" not in x))
    async with running(upstream.url, scrape=True, scrape_seconds=OFTEN) as proxy:
        metrics = await until_shown(proxy, has_numbers)
        assert metrics.total("upstream_speculation", state="off") == 1


async def test_sglang(upstream: ScriptedUpstream) -> None:
    """Verify calls are shown as such; drafts, drafted and accepted tokens are unknown."""
    upstream.scripts["/metrics"] = page(SGLANG)
    async with scraping(upstream.url, "sglang") as metrics:
        await until(lambda: has_numbers(metrics()))
        assert metrics().total("upstream_spec_decode_num_verify_calls_total") == 8060
        assert metrics().total(RUNNING, model_name="m") == 7
        for name in ("num_drafts", "num_draft_tokens", "num_accepted_tokens"):
            assert metrics().total(f"upstream_spec_decode_{name}_total") is None


async def test_trtllm(upstream: ScriptedUpstream) -> None:
    """The page is read that may be read; the one that reading empties is never asked for."""
    upstream.scripts["/prometheus/metrics"] = page(TRTLLM)
    upstream.script = status("404 Not Found")
    async with scraping(upstream.url, "trtllm") as metrics:
        await until(lambda: len(upstream.requests) > 3)
        assert metrics().total("upstream_spec_decode_num_draft_tokens_total") == 1950
        assert metrics().by(PER_POSITION, "position") == {"0": 400, "1": 170}
    assert {request.target for request in upstream.requests} == {b"/prometheus/metrics"}


async def test_without_the_option_nothing_is_asked_or_shown(upstream: ScriptedUpstream) -> None:
    """An upstream is left alone unless the configuration says otherwise."""
    upstream.models = model_list(f"{LLAMA}/chat")
    upstream.script = page(captured(LLAMA))
    async with running(upstream.url, scrape_seconds=OFTEN) as proxy:
        await asyncio.sleep(OFTEN * 5)
        metrics = await proxy.metrics()
        assert not has_numbers(metrics)
        assert metrics.total("upstream_scrape_failures_total") is None
    assert upstream.requests == []


async def test_each_upstream_for_itself(upstream: ScriptedUpstream) -> None:
    """One that hangs does not hold up the other one's page."""
    async with ScriptedUpstream(models=upstream.models) as other:
        other.scripts["/metrics"] = page(VLLM_ENGINES)
        upstream.scripts["/metrics"] = hang
        options: dict[str, Any] = {"scrape": True, "scrape_seconds": OFTEN, "backend": "vllm"}
        async with running(upstream.url, other.url, **options) as proxy:
            metrics = await until_shown(proxy, has_numbers)
            assert metrics.by(GENERATED, "upstream") == {"b": 400}


async def test_before_the_first_page_there_are_no_series(upstream: ScriptedUpstream) -> None:
    """What no page has said yet is absent, never 0; failures are there from the start."""
    may_answer = asyncio.Event()

    async def late(call: Call) -> None:
        await may_answer.wait()
        await page(VLLM_ENGINES)(call)

    upstream.scripts["/metrics"] = late
    async with running(upstream.url, scrape=True, backend="vllm") as proxy:
        await until(lambda: bool(upstream.requests))
        metrics = await proxy.metrics()
        assert not has_numbers(metrics)
        assert metrics.total("upstream_scrape_failures_total", reason="timeout") == 0
        may_answer.set()
        await until_shown(proxy, has_numbers)


async def test_a_kind_that_is_not_known_is_not_asked(
    upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """Only when an answer tells the kind is a page asked for; the log says what is missing."""
    upstream.scripts[CHAT] = answer(response(capture(f"{LLAMA}/chat").body))
    upstream.scripts["/metrics"] = page(captured(LLAMA))
    with caplog.at_level(logging.WARNING, "specmeter"):
        async with running(upstream.url, scrape=True, scrape_seconds=OFTEN) as proxy:
            await until(lambda: "backend may name it" in caplog.text)
            assert upstream.requests == []
            assert (await chat(proxy.url)).status == 200
            metrics = await until_shown(proxy, has_numbers)
            assert metrics.total(GENERATED, model_name="other") == 764


async def test_a_kind_without_a_page(
    upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is asked of a server whose page is not known, and the log says so once."""
    with caplog.at_level(logging.WARNING, "specmeter"):
        async with running(
            upstream.url, scrape=True, scrape_seconds=OFTEN, backend="openai"
        ) as proxy:
            await asyncio.sleep(OFTEN * 5)
            assert not has_numbers(await proxy.metrics())
    assert upstream.requests == []
    assert caplog.text.count("openai servers have none that is known") == 1


async def test_the_servers_key(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """Own requests carry the key of api_key_file, which is shown nowhere."""
    key = tmp_path / "key"
    key.write_text("sk-hunter2\n", encoding="utf-8")
    upstream.models = model_list(f"{LLAMA}/chat")
    upstream.scripts["/metrics"] = page(captured(LLAMA))
    options: dict[str, Any] = {"scrape": True, "scrape_seconds": OFTEN, "api_key_file": str(key)}
    async with running(upstream.url, **options) as proxy:
        await until_shown(proxy, has_numbers)
        shown = await ask(proxy.service.admin_url, "GET", "/metrics")
        assert b"hunter2" not in shown.body
    for request in (*upstream.probes, *upstream.requests):
        assert request.all(b"authorization") == [b"Bearer sk-hunter2"]


class TestNames:
    async def test_a_server_that_calls_its_model_otherwise(
        self, upstream: ScriptedUpstream
    ) -> None:
        """The one model of a server has the one name that clients use for it."""
        upstream.scripts["/metrics"] = page(VLLM_ENGINES)
        options: dict[str, Any] = {"scrape": True, "backend": "vllm", "models": ("gpt",)}
        async with running(upstream.url, **options) as proxy:
            metrics = await until_shown(proxy, has_numbers)
            assert metrics.by(GENERATED, "model_name") == {"gpt": 400}

    async def test_a_server_whose_model_has_aliases(self, upstream: ScriptedUpstream) -> None:
        """The page of a llama.cpp server belongs to its model, whatever else that is called."""
        aliases = {"id": "a", "aliases": ["a", "b"], "owned_by": "llamacpp"}
        upstream.models = json.dumps({"data": [aliases]}).encode()
        upstream.scripts["/metrics"] = page(captured(LLAMA))
        async with running(upstream.url, scrape=True) as proxy:
            metrics = await until_shown(proxy, has_numbers)
            assert metrics.by(GENERATED, "model_name") == {"a": 764}

    async def test_a_page_cannot_mint_series(self, upstream: ScriptedUpstream) -> None:
        """Models that are on no list are one series together."""
        models = ("a", "b")
        lines = (f'vllm:generation_tokens_total{{model_name="m{i}"}} 2\n' for i in range(300))
        upstream.scripts["/metrics"] = page("".join(lines))
        async with running(upstream.url, scrape=True, backend="vllm", models=models) as proxy:
            metrics = await until_shown(proxy, has_numbers)
            assert metrics.by(GENERATED, "model_name") == {"other": 600}


class TestRestarts:
    async def test_totals_go_on(self, upstream: ScriptedUpstream) -> None:
        """Counts of a new process are added, told by a smaller number or by the header alone."""
        upstream.models = model_list(f"{LLAMA}/chat")
        history = [(100, b"11", 100), (40, b"22", 140), (70, b"33", 210), (75, b"33", 215)]
        async with running(upstream.url, scrape=True, scrape_seconds=OFTEN) as proxy:
            for counted, process, total in history:
                body = llama_cpp({"tokens_predicted_total": counted})
                header = (b"Process-Start-Time-Unix", process)
                upstream.scripts["/metrics"] = page(body, header)
                await until_shown(proxy, partial(shows, GENERATED, total))

    async def test_a_server_that_is_gone(self, upstream: ScriptedUpstream) -> None:
        """Its counts stay, what was true only then does not."""
        upstream.scripts["/metrics"] = page(VLLM_ENGINES)
        options: dict[str, Any] = {"scrape": True, "scrape_seconds": OFTEN, "backend": "vllm"}
        async with running(upstream.url, **options) as proxy:
            metrics = await until_shown(proxy, has_numbers)
            assert metrics.total(RUNNING) == 7
            upstream.scripts["/metrics"] = status("503 Service Unavailable")
            metrics = await until_shown(proxy, lambda m: m.total(RUNNING) is None)
            assert metrics.total(GENERATED) == 400
            read_at = metrics.total("upstream_scrape_timestamp_seconds")
            assert read_at is not None
            await asyncio.sleep(OFTEN * 3)
            metrics = await proxy.metrics()
            assert metrics.total("upstream_scrape_timestamp_seconds") == read_at
