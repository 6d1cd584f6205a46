"""vLLM's, SGLang's and TensorRT-LLM's pages, as their sources write them."""

import pytest

from specmeter.upstream_pages import PAGES, Name, Target
from tests.upstream_pages.pages import (
    SGLANG,
    TRTLLM,
    VLLM_DIFFUSION,
    VLLM_ENGINES,
    VLLM_VERSION_0,
    numbers,
    read,
)


class TestVllm:
    def test_engines_are_summed(self) -> None:
        """Data parallel engines are one server; each counter has its own name."""
        page = read("vllm", VLLM_ENGINES)
        assert numbers(page) == {
            Name.DRAFTS: 74,
            Name.DRAFT_TOKENS: 148,
            Name.ACCEPTED_TOKENS: 69,
            Name.GENERATED_TOKENS: 400,
            Name.PROMPT_TOKENS: 750,
            (Name.ACCEPTED_PER_POSITION, 0): 48,
            (Name.ACCEPTED_PER_POSITION, 1): 21,
            (Name.DRAFTED_PER_POSITION, 0): 74,
            (Name.DRAFTED_PER_POSITION, 1): 74,
        }
        assert page.running == {"m": 7}

    def test_the_process_is_told_by_its_start(self) -> None:
        """Python's client library shows when the process began, which no other one shares."""
        later = VLLM_ENGINES.replace("1.79596135e+09", "1.79596136e+09")
        processes = [read("vllm", page).process for page in (VLLM_ENGINES, VLLM_ENGINES, later)]
        assert processes[0]
        assert processes[0] == processes[1] != processes[2]

    @pytest.mark.parametrize(
        "name",
        [
            "vllm:spec_decode_num_draft_tokens_per_pos_total",
            "vllm:spec_decode_num_draft_tokens_created",
            "vllm:spec_decode_num_draft_tokens_total_total",
            "vllm:spec_decode_num_draft_tokens",
            "vllm:external_spec_decode_num_draft_tokens_total",
        ],
    )
    def test_names_match_whole(self, name: str) -> None:
        """A name that begins, ends or continues like a wanted one is another number."""
        wanted = 'vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"}'
        page = f'{wanted} 5\n{name}{{engine="0",model_name="m",position="0"}} 1000\n'
        assert numbers(read("vllm", page))[Name.DRAFT_TOKENS] == 5

    def test_denoising_is_not_speculation(self) -> None:
        """A block diffusion model's steps are no drafts."""
        assert numbers(read("vllm", VLLM_DIFFUSION)) == {Name.GENERATED_TOKENS: 4000}

    def test_version_0(self) -> None:
        """Its two counters count; its ratios and emitted tokens do not, its drafts are unknown."""
        assert numbers(read("vllm", VLLM_VERSION_0)) == {
            Name.DRAFT_TOKENS: 13311,
            Name.ACCEPTED_TOKENS: 8547,
        }

    def test_without_a_drafter_drafting_is_absent(self) -> None:
        """A server that does not speculate has no drafts: that is not 0 drafts."""
        lines = [line for line in VLLM_ENGINES.splitlines(True) if "spec_decode" not in line]
        assert set(numbers(read("vllm", "".join(lines)))) == {
            Name.GENERATED_TOKENS,
            Name.PROMPT_TOKENS,
        }


class TestSglang:
    def test_only_counters_are_counted(self) -> None:
        """Verify calls are what they are; the last moment's ratios and the settings are left."""
        assert numbers(read("sglang", SGLANG)) == {
            Name.VERIFY_CALLS: 8060,
            Name.GENERATED_TOKENS: 7557600,
            Name.PROMPT_TOKENS: 8129000,
        }

    def test_a_running_request_counts_once(self) -> None:
        """Ranks of a replica repeat each other, priorities are parts; replicas add up."""
        assert read("sglang", SGLANG).running == {"m": 5 + 2}


class TestTrtllm:
    def test_totals_and_positions(self) -> None:
        """The totals of drafting are its own, not the sums over finished requests' positions."""
        page = read("trtllm", TRTLLM)
        assert numbers(page) == {
            Name.DRAFT_TOKENS: 1950,
            Name.ACCEPTED_TOKENS: 650,
            Name.GENERATED_TOKENS: 1290,
            Name.PROMPT_TOKENS: 410,
            (Name.ACCEPTED_PER_POSITION, 0): 400,
            (Name.ACCEPTED_PER_POSITION, 1): 170,
            (Name.DRAFTED_PER_POSITION, 0): 640,
            (Name.DRAFTED_PER_POSITION, 1): 630,
        }
        assert page.running == {"m": 2}

    def test_its_metrics_path_is_left_alone(self) -> None:
        """`/metrics` is drained by reading, so another path is read."""
        assert PAGES["trtllm"].targets(b"") == (Target("/prometheus/metrics"),)


@pytest.mark.parametrize("kind", sorted(PAGES))
def test_a_server_that_has_not_counted_yet(kind: str) -> None:
    """An empty page is no fault, and says nothing."""
    page = read(kind, b"")
    assert (dict(page.counters), dict(page.running)) == ({}, {})
