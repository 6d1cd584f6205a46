"""llama.cpp's page: six digits, exact positions, and routers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter.upstream_pages import PAGES, Name, Target, Totals
from tests.replay import CAPTURES
from tests.upstream_pages.pages import llama_cpp, numbers, read

DRAFT_TOKENS = "spec_decode_num_draft_tokens_total"
ACCEPTED = "spec_decode_num_accepted_tokens_total"


def total(totals: Totals, name: Name) -> float | None:
    return {key.name: number for key, number in totals.items()}.get(name)


class TestRounding:
    @given(start=st.integers(0, 10**9), steps=st.lists(st.integers(0, 2000), min_size=1))
    def test_a_total_is_off_by_less_than_the_last_digit(self, start: int, steps: list[int]) -> None:
        """What is shown rises, and is never further off than the six digits are apart."""
        totals, counted, shown_before = Totals(), start, 0.0
        for step in steps:
            counted += step
            page = read("llama_cpp", llama_cpp({DRAFT_TOKENS: counted}))
            totals.take(page.counters, "1")
            shown = total(totals, Name.DRAFT_TOKENS)
            assert shown is not None
            assert shown >= shown_before
            apart = 10 ** max(0, len(str(counted)) - 6)
            assert abs(shown - counted) < max(apart, 1)
            shown_before = shown

    def test_less_than_the_last_digit_does_not_show(self) -> None:
        """Three tokens more are not seen behind 1.23457e+06, and neither are three less made up."""
        totals = Totals()
        seen = []
        for counted in (1234566, 1234569, 1234574, 1234576):
            totals.take(read("llama_cpp", llama_cpp({DRAFT_TOKENS: counted})).counters, "1")
            seen.append(total(totals, Name.DRAFT_TOKENS))
        assert seen == [1234570, 1234570, 1234570, 1234580]

    @given(
        counts=st.lists(st.integers(0, 10**8), min_size=1, max_size=70),
        steps=st.lists(st.integers(0, 9), min_size=1),
    )
    def test_accepted_is_exact(self, counts: list[int], steps: list[int]) -> None:
        """The positions are exact, and their sum is what is shown, however large."""
        totals = Totals()
        for step in steps:
            counts[0] += step
            page = llama_cpp({ACCEPTED: sum(counts)}, tuple(counts))
            totals.take(read("llama_cpp", page).counters, "1")
            assert total(totals, Name.ACCEPTED_TOKENS) == sum(counts)

    def test_positions_that_do_not_add_up(self) -> None:
        """Positions that are not all there are no sum: the rounded total is taken then."""
        page = read("llama_cpp", llama_cpp({ACCEPTED: 1234567}, (1000000, 200000)))
        assert numbers(page)[Name.ACCEPTED_TOKENS] == 1234570

    def test_a_sum_that_becomes_a_rounded_total(self) -> None:
        """A smaller number of fewer digits is not taken for a restart."""
        totals = Totals()
        totals.take(read("llama_cpp", llama_cpp({ACCEPTED: 1234564}, (1234564,))).counters, "1")
        totals.take(read("llama_cpp", llama_cpp({ACCEPTED: 1234564})).counters, "1")
        assert total(totals, Name.ACCEPTED_TOKENS) == 1234564

    def test_a_total_without_positions(self) -> None:
        """Before anything was accepted there are no positions, and the total is 0."""
        page = read("llama_cpp", llama_cpp({ACCEPTED: 0}))
        assert numbers(page) == {Name.ACCEPTED_TOKENS: 0}


def test_prompts_without_their_cached_part_are_unknown() -> None:
    """Older builds count only what was not in the cache, which is not all of a prompt."""
    assert numbers(read("llama_cpp", llama_cpp({"prompt_tokens_total": 7}))) == {}


def test_a_build_without_drafting_counters() -> None:
    """Builds before August 2026 say nothing of drafts, and neither do we."""
    page = llama_cpp({"tokens_predicted_total": 9, "requests_processing": 1})
    assert numbers(read("llama_cpp", page)) == {Name.GENERATED_TOKENS: 9}


def model(name: str, status: object = None) -> dict[str, object]:
    entry: dict[str, object] = {"id": name, "object": "model", "owned_by": "llamacpp"}
    return entry if status is None else {**entry, "status": {"value": status, "args": []}}


def targets(*models: dict[str, object]) -> tuple[Target, ...]:
    return PAGES["llama_cpp"].targets(json.dumps({"object": "list", "data": models}).encode())


class TestTargets:
    def test_a_server_with_one_model(self) -> None:
        """A real server's listing leads to its one page, with the name of its model."""
        listing = (CAPTURES / "llama_cpp" / "plain" / "models.json").read_bytes()
        assert PAGES["llama_cpp"].targets(listing) == (Target("/metrics", "smollm2-135m"),)

    def test_a_router(self) -> None:
        """Only loaded models are looked at, by name, and never so that one is loaded."""
        states = ("unloaded", "loading", "loaded", "sleeping", "downloading", "downloaded", 7)
        found = targets(*(model(f"m {state}", state) for state in states))
        assert found == (Target("/metrics?model=m%20loaded&autoload=false", "m loaded", False),)

    @pytest.mark.parametrize(
        ("name", "query"),
        [
            ("ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", "ggml-org%2Fgemma-3-4b-it-GGUF%3AQ4_K_M"),
            ("a&autoload=true", "a%26autoload%3Dtrue"),
            ("é", "%C3%A9"),
        ],
    )
    def test_a_name_cannot_change_the_question(self, name: str, query: str) -> None:
        """Whatever a model is called, the name stays one value of the query."""
        assert targets(model(name, "loaded"))[0].path == f"/metrics?model={query}&autoload=false"

    def test_a_router_without_a_loaded_model(self) -> None:
        """There is nothing to look at: the router itself has no page."""
        assert targets(model("a", "unloaded")) == ()

    @pytest.mark.parametrize("listing", [b"", b"[]", b"{", b'{"data":7}', b'{"data":[7,{}]}'])
    def test_a_listing_that_tells_nothing(self, listing: bytes) -> None:
        """The plain page is asked for, which a router refuses without loading anything."""
        assert PAGES["llama_cpp"].targets(listing) == (Target("/metrics"),)
