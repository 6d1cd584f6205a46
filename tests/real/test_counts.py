"""What the proxy counts is what the server counts of itself, to the token."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from specmeter.demo.llama_server import LlamaServer
from specmeter.meter.completion import Completion
from tests.real.page import Counts, Page, proxy_counts
from tests.real.proxy import Proxy, running_proxy
from tests.real.requests import REPORTING, SILENT, Ask, text


@dataclass(frozen=True)
class Outcome:
    server: Counts
    server_decode_seconds: float
    page: Page
    completions: list[Completion]


async def ask_all(llama: LlamaServer, asks: Sequence[Ask]) -> Outcome:
    """Send requests through a new proxy, one after the other."""
    seconds = "llamacpp:tokens_predicted_seconds_total"
    async with running_proxy(llama.url) as proxy:
        counts, time = await proxy.server_counts(), (await proxy.server_page()).total(seconds)
        for ask in asks:
            await proxy.post(ask.path, **ask.body)
        return Outcome(
            (await proxy.server_counts()).since(counts),
            (await proxy.server_page()).total(seconds) - time,
            await proxy.page(),
            proxy.completions,
        )


def by_speculation(page: Page) -> tuple[float, ...]:
    """Give the completions drafted, not drafted, not reported."""
    return tuple(
        page.total("specmeter_completions_total", speculation=state)
        for state in ("drafted", "not_drafted", "not_reported")
    )


def assert_exact(outcome: Outcome) -> None:
    """All tokens and all seconds are the server's own, and nothing was left out."""
    page, completions = outcome.page, outcome.completions
    assert proxy_counts(page) == outcome.server
    assert [one.endpoint for one in completions] == [
        ask.path for ask in REPORTING for _ in range(ask.choices)
    ]
    assert {one.model_name for one in completions} == {"smollm2-135m"}
    decode_seconds = sum(one.reading.decode_seconds or 0 for one in completions)
    assert decode_seconds == pytest.approx(outcome.server_decode_seconds, rel=1e-3)
    assert page.total("specmeter_unread_completions_total") == 0
    assert page.total("specmeter_inconsistent_completions_total") == 0
    steps = page.total("specmeter_target_steps_total")
    assert steps == outcome.server.generated - outcome.server.accepted
    assert page.total("specmeter_target_step_tokens_total") == outcome.server.generated


def assert_rounds_unknown(page: Page) -> None:
    """What llama.cpp's answers do not tell is absent, not 0."""
    assert page.values("specmeter_spec_decode_num_drafts_total") == []
    assert page.values("specmeter_spec_decode_num_accepted_tokens_per_pos_total") == []


async def test_plain_server_is_counted_exactly(plain_llama: LlamaServer) -> None:
    """Without speculation every token is a step of the target, and there is no acceptance."""
    outcome = await ask_all(plain_llama, REPORTING)
    assert_exact(outcome)
    assert outcome.server.generated > 200
    assert by_speculation(outcome.page) == (0, len(outcome.completions), 0)
    assert outcome.server.drafted == 0
    assert outcome.page.total("specmeter_request_acceptance_ratio_count") == 0
    assert_rounds_unknown(outcome.page)


async def test_ngram_drafts_are_counted_exactly(ngram_mod_llama: LlamaServer) -> None:
    """Where some completions find drafts and others none, both sorts are told apart."""
    outcome = await ask_all(ngram_mod_llama, REPORTING)
    assert_exact(outcome)
    drafted, not_drafted, not_reported = by_speculation(outcome.page)
    assert drafted > 0
    assert not_drafted > 0
    assert drafted + not_drafted == len(outcome.completions)
    assert not_reported == 0
    assert outcome.server.drafted > 0
    assert outcome.page.total("specmeter_request_acceptance_ratio_count") == drafted
    assert_rounds_unknown(outcome.page)


async def test_model_that_drafts_for_itself_is_counted_exactly(
    draft_simple_llama: LlamaServer,
) -> None:
    """A draft model that is the target itself drafts always, and is nearly always right."""
    outcome = await ask_all(draft_simple_llama, REPORTING)
    assert_exact(outcome)
    assert by_speculation(outcome.page) == (len(outcome.completions), 0, 0)
    assert outcome.server.accepted / outcome.server.drafted > 0.9
    assert_rounds_unknown(outcome.page)


async def test_answers_without_numbers_count_their_tokens(ngram_mod_llama: LlamaServer) -> None:
    """Where the server does not tell about drafting, that is said, and tokens still count."""
    outcome = await ask_all(ngram_mod_llama, SILENT)
    page, counts = outcome.page, proxy_counts(outcome.page)
    assert by_speculation(page) == (0, 0, len(SILENT))
    assert (counts.generated, counts.prompt, counts.cached_prompt) == (
        outcome.server.generated,
        outcome.server.prompt,
        outcome.server.cached_prompt,
    )
    assert counts.generated > 0
    assert page.total("specmeter_target_steps_total") == 0
    assert page.total("specmeter_request_acceptance_ratio_count") == 0
    assert page.total("specmeter_unread_completions_total") == 0


async def test_answer_without_the_fields_asked_away_is_unread(plain_proxy: Proxy) -> None:
    """A client may have the server leave the numbers out; the completion is counted as unread."""
    body = text("One", max_tokens=2, response_fields=["content"])
    assert json.loads(await plain_proxy.post("/completion", **body)).keys() == {"content"}
    page = await plain_proxy.page()
    assert plain_proxy.completions == []
    assert page.total("specmeter_unread_completions_total", reason="no_numbers") == 1
    assert page.total("specmeter_unread_completions_total") == 1
