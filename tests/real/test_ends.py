"""Answers that end at once, or in the middle of a round."""

from specmeter.demo.llama_server import LlamaServer
from specmeter.reading import Inconsistency, Speculation
from tests.real.page import proxy_counts
from tests.real.proxy import running_proxy
from tests.real.requests import COLOURS

TEXT = {"prompt": COLOURS, "temperature": 0, "seed": 1}


async def test_one_token_answers_are_counted(llama: LlamaServer) -> None:
    """An answer of one token is one step, drafts nothing and tells nothing about speed."""
    async with running_proxy(llama.url) as proxy:
        before = await proxy.server_counts()
        for stream in (False, True):
            await proxy.post("/v1/completions", **TEXT, max_tokens=1, stream=stream)
        gained = (await proxy.server_counts()).since(before)
        page = await proxy.page()
    assert proxy_counts(page) == gained
    assert gained.generated == 2
    for one in proxy.completions:
        assert one.reading.speculation is Speculation.NOT_DRAFTED
        assert one.reading.target_steps == 1
        assert one.reading.seconds_per_token is None
    assert page.total("specmeter_target_steps_total") == 2
    assert page.total("specmeter_decode_seconds_total") == 0
    assert page.total("specmeter_time_per_output_token_seconds_count") == 0
    assert page.total("specmeter_inconsistent_completions_total") == 0


async def test_stop_word_in_the_middle_of_a_round(ngram_mod_llama: LlamaServer) -> None:
    """Accepted tokens that were never emitted count as the server counts them, and are told."""
    async with running_proxy(ngram_mod_llama.url) as proxy:
        before = await proxy.server_counts()
        for stream in (False, True):
            await proxy.post(
                "/v1/completions", **TEXT, max_tokens=48, stop=["black"], stream=stream
            )
        gained = (await proxy.server_counts()).since(before)
        page = await proxy.page()
    assert proxy_counts(page) == gained
    assert gained.accepted > gained.generated
    beyond = Inconsistency.ACCEPTED_NOT_BELOW_GENERATED
    assert page.total("specmeter_inconsistent_completions_total", reason=beyond) == 2
    for one in proxy.completions:
        assert one.reading.target_steps == 2
        assert one.reading.output_per_step == (one.reading.generated or 0) / 2
    assert page.total("specmeter_target_steps_total") == 4


async def test_stop_word_within_short_rounds(draft_simple_llama: LlamaServer) -> None:
    """Where rounds are short, a stop word leaves counts that are exact and plausible."""
    async with running_proxy(draft_simple_llama.url) as proxy:
        before = await proxy.server_counts()
        for word in ("green", "blue", "white"):
            await proxy.post("/v1/completions", **TEXT, max_tokens=24, stop=[word], stream=True)
        gained = (await proxy.server_counts()).since(before)
        page = await proxy.page()
    assert proxy_counts(page) == gained
    for one in proxy.completions:
        reading = one.reading
        assert reading.generated is not None
        assert reading.target_steps is not None
        assert 1 <= reading.target_steps <= reading.generated < 24
        assert 0 < (reading.acceptance or 0) <= 1
