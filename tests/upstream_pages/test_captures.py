"""Pages of real servers give the numbers that are printed on them."""

from specmeter.upstream_pages import Name
from tests.upstream_pages.pages import Numbers, captured, numbers, read


def per_position(*counts: float) -> Numbers:
    return {(Name.ACCEPTED_PER_POSITION, at): count for at, count in enumerate(counts)}


def test_llama_cpp_that_drafts_for_itself() -> None:
    """Every number of the draft-simple server's page is found, prompts with their cached part."""
    page = read("llama_cpp", captured("llama_cpp/draft-simple"))
    scalars: Numbers = {
        Name.DRAFTS: 194,
        Name.DRAFT_TOKENS: 569,
        Name.ACCEPTED_TOKENS: 555,
        Name.GENERATED_TOKENS: 764,
        Name.PROMPT_TOKENS: 609 + 275,
    }
    assert numbers(page) == scalars | per_position(191, 189, 175)
    assert page.running == {None: 0}


def test_llama_cpp_with_long_drafts() -> None:
    """All 64 positions of the ngram-mod server add up to its accepted tokens."""
    found = numbers(read("llama_cpp", captured("llama_cpp/ngram-mod")))
    positions = {key: count for key, count in found.items() if isinstance(key, tuple)}
    assert len(positions) == 64
    assert sum(positions.values()) == found[Name.ACCEPTED_TOKENS] == 472
    assert (found[Name.DRAFTS], found[Name.DRAFT_TOKENS]) == (19, 748)


def test_llama_cpp_without_speculation() -> None:
    """Its page says 0 for drafts and nothing of positions; so do we."""
    assert numbers(read("llama_cpp", captured("llama_cpp/plain"))) == {
        Name.DRAFTS: 0,
        Name.DRAFT_TOKENS: 0,
        Name.ACCEPTED_TOKENS: 0,
        Name.GENERATED_TOKENS: 798,
        Name.PROMPT_TOKENS: 585 + 299,
    }


def test_vllm() -> None:
    """The 50 kB of a vLLM server give its few numbers, and its model."""
    page = read("vllm", captured("vllm"))
    scalars: Numbers = {
        Name.DRAFTS: 65,
        Name.DRAFT_TOKENS: 254,
        Name.ACCEPTED_TOKENS: 179,
        Name.GENERATED_TOKENS: 372,
        Name.PROMPT_TOKENS: 693,
    }
    assert numbers(page) == scalars | per_position(51, 47, 43, 38)
    assert page.running == {"smol": 0}
    assert {key.model for key in page.counters} == {"smol"}
