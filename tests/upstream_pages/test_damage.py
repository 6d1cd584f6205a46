"""Pages that are damaged, or no metrics pages at all."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter.upstream_pages import PAGES, DamagedPageError, Name, NoPageError
from specmeter.upstream_pages.text import MAX_SERIES
from tests.upstream_pages.pages import (
    SGLANG,
    TRTLLM,
    VLLM_ENGINES,
    captured,
    llama_cpp,
    numbers,
    read,
)

WHOLE = [
    ("llama_cpp", captured("llama_cpp/draft-simple")),
    ("vllm", VLLM_ENGINES.encode()),
    ("sglang", SGLANG.encode()),
    ("trtllm", TRTLLM.encode()),
]

GENERATED = 'vllm:generation_tokens_total{engine="0",model_name="m"}'
PROMPT = 'vllm:prompt_tokens_total{engine="0",model_name="m"}'


@pytest.mark.parametrize(("kind", "body"), WHOLE, ids=[kind for kind, _ in WHOLE])
def test_a_page_that_is_cut_off_anywhere(kind: str, body: bytes) -> None:
    """It is refused, or has fewer numbers, but never another one."""
    whole = read(kind, body).counters
    refused = 0
    for end in range(1, len(body)):
        try:
            part = read(kind, body[:end])
        except DamagedPageError:
            refused += 1
            continue
        exact = {key: value for key, value in part.counters.items() if key in whole}
        assert exact.items() <= whole.items()
        assert exact.keys() == part.counters.keys()
    assert refused > len(body) * 0.9


@pytest.mark.parametrize("number", ["NaN", "-1", "-0.5", "+Inf", "-Inf", "1e300", "9" * 3000])
def test_a_number_that_cannot_be_true(number: str) -> None:
    """It is left out and counted; the others are read."""
    page = read("vllm", f"{GENERATED} {number}\n{PROMPT} 12\n")
    assert numbers(page) == {Name.PROMPT_TOKENS: 12}
    assert page.left_out == 1


def test_a_number_of_a_series_that_is_not_read() -> None:
    """Whatever it is, it is none of ours."""
    others = "vllm:generation_tokens_total_per_day NaN\n" * 2
    page = read("vllm", f"{PROMPT} 12\n{others}")
    assert (numbers(page), page.left_out) == ({Name.PROMPT_TOKENS: 12}, 0)


@pytest.mark.parametrize(
    "line",
    [
        f"{GENERATED} x",
        f"{GENERATED}",
        f"{GENERATED} 1_000",
        'vllm:generation_tokens_total{engine="0 12',
        'vllm:generation_tokens_total{engine="0",engine="1"} 12',
        "vllm:generation_tokens_total{engine} 12",
        "vllm:generation_tokens_total}{ 12",
        "vllm:generation_tokens_total,{, =x}",
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="x"} 1',
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="-1"} 1',
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="99999"} 1',
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="²"} 1',
        f"{GENERATED} {'1' * 5000}",
    ],
)
def test_a_line_at_fault(line: str) -> None:
    """Nothing of a page with such a line is believed, and no piece of it gets into the message."""
    with pytest.raises(DamagedPageError) as caught:
        read("vllm", f"{PROMPT} 12\n{line}\n")
    assert "12" not in str(caught.value)


def test_a_series_that_is_there_twice() -> None:
    """Which of two numbers is true cannot be known."""
    with pytest.raises(DamagedPageError, match="twice"):
        read("vllm", f"{GENERATED} 12\n{GENERATED} 13\n")
    with pytest.raises(DamagedPageError, match="twice"):
        read("llama_cpp", llama_cpp({"tokens_predicted_total": 1}) * 2)


@pytest.mark.parametrize("kind", sorted(PAGES))
@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html>\n<html><body>vllm: sglang: llamacpp: trtllm_</body></html>\n",
        b'[{"iter":1,"trtllm_num_requests_running":2}]\n',
        b'{"error":{"message":"vllm:generation_tokens_total 1"}}\n',
        b"ok\n",
        b"# TYPE node_load1 gauge\nnode_load1 0.5\n",
        b"\xff\xfe\x00\x01\n",
        b"\x1f\x8b\x08\x00compressed\n",
    ],
    ids=["html", "json", "error", "text", "other", "binary", "gzip"],
)
def test_what_is_not_such_a_page(kind: str, body: bytes) -> None:
    """It is told apart from a page that is damaged."""
    with pytest.raises(NoPageError):
        read(kind, body)


def test_a_page_of_another_server() -> None:
    """A page of vLLM is none of llama.cpp's, whatever the configuration says."""
    with pytest.raises(NoPageError):
        read("llama_cpp", captured("vllm"))


def test_too_many_series() -> None:
    """They are not parsed, so that the traffic does not wait for it."""
    series = [f'vllm:generation_tokens_total{{engine="{i}"}} 1\n' for i in range(MAX_SERIES + 1)]
    assert numbers(read("vllm", "".join(series[1:]))) == {Name.GENERATED_TOKENS: MAX_SERIES}
    with pytest.raises(DamagedPageError):
        read("vllm", "".join(series))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "tweak",
    [
        lambda line: line,
        lambda line: line.replace(" ", "\t"),
        lambda line: f"{line} 1795961361000",
        lambda line: line.replace("}", ",}"),
    ],
    ids=["plain", "tab", "timestamp", "comma"],
)
def test_the_same_in_other_writings(tweak: Callable[[str], str], ending: str) -> None:
    """Whatever the text format allows is read."""
    page = read("vllm", tweak(f"{GENERATED} 12") + ending)
    assert numbers(page) == {Name.GENERATED_TOKENS: 12}


@given(
    series=st.sampled_from([(kind, name) for kind in PAGES for name in sorted(PAGES[kind].names)]),
    tail=st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=60),
)
def test_any_line(series: tuple[str, str], tail: str) -> None:
    """Nothing that may stand behind a wanted name does more than spoil the page."""
    kind, name = series
    try:
        page = read(kind, f"{PAGES[kind].prefix}x 1\n{name}{tail}\n")
    except DamagedPageError:
        return
    assert all(value.number >= 0 for value in page.counters.values())
