"""What has ended is counted a moment later, several at a time; nobody who looks has to know."""

from __future__ import annotations

import asyncio

import pytest

from specmeter.meter.completion import Completion
from specmeter.recorder import AT_A_TIME
from tests.gateway.client import CHAT, CHAT_BODY, Client, ask, chat, request
from tests.gateway.proxy import Metrics, running, until
from tests.scripted import ScriptedUpstream, answer, response

THREE_TOKENS = response(b'{"usage":{"prompt_tokens":5,"completion_tokens":3}}')


async def test_scrape_right_behind_an_answer(upstream: ScriptedUpstream) -> None:
    """A scrape shows every answer that has ended, also the one that ended just now."""
    upstream.script = answer(THREE_TOKENS)
    async with running(upstream.url, backend="llama_cpp") as proxy:
        for number in range(1, 6):
            await chat(proxy.url)
            metrics = Metrics((await ask(proxy.service.admin_url, "GET", "/metrics")).body)
            assert metrics.total("generated_tokens_total") == 3 * number
            assert metrics.total("requests_total", code="200") == number


async def test_observers_wait_for_no_scrape(upstream: ScriptedUpstream) -> None:
    """Who is told of each completion is told soon, whether or not somebody scrapes."""
    upstream.script = answer(THREE_TOKENS)
    async with running(upstream.url, backend="llama_cpp") as proxy:
        for _ in range(3):
            await chat(proxy.url)
        await until(lambda: len(proxy._seen) == 3, seconds=1)


async def test_more_than_are_counted_at_a_time(upstream: ScriptedUpstream) -> None:
    """Each of many is counted once."""
    upstream.script = answer(THREE_TOKENS)
    count = 5 * AT_A_TIME + 1

    async def one() -> None:
        async with await Client.connect(proxy.url) as client:
            for _ in range(2):
                await client.send(request("POST", CHAT, body=CHAT_BODY))
                assert (await client.answer()).complete

    async with running(upstream.url, backend="llama_cpp") as proxy:
        await asyncio.gather(*(one() for _ in range(count)))
        metrics = await proxy.metrics()
        assert len(proxy.seen) == 2 * count
    assert metrics.total("generated_tokens_total") == 6 * count
    assert metrics.by("requests_total", "code") == {"200": 2 * count}


async def test_stopping_counts_what_has_ended(upstream: ScriptedUpstream) -> None:
    """The last answer before the end is counted too."""
    upstream.script = answer(THREE_TOKENS)
    async with running(upstream.url, backend="llama_cpp") as proxy:
        await chat(proxy.url)
        await proxy.service.stop()
        assert len(proxy._seen) == 1


async def test_a_fault_in_counting_stops_one_completion_only(
    upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """Those that are counted together with it go on, and it is told of."""
    upstream.script = answer(THREE_TOKENS)
    seen: list[Completion] = []

    def fails_at_the_second(completion: Completion) -> None:
        seen.append(completion)
        if len(seen) == 2:
            raise ZeroDivisionError

    async with running(upstream.url, backend="llama_cpp") as proxy:
        proxy.service.observers.insert(0, fails_at_the_second)
        for _ in range(3):
            await chat(proxy.url)
        metrics = await proxy.metrics()
        assert proxy.seen == [seen[0], seen[2]]
    assert metrics.total("generated_tokens_total") == 9
    assert metrics.by("unread_completions_total", "reason") == {"reader_failed": 1}
    assert "ZeroDivisionError" in caplog.text
