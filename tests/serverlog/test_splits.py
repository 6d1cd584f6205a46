"""Arbitrary bytes, and pieces that end anywhere."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.serverlog import test_ollama, test_sglang, test_tabby, test_vllm
from tests.serverlog.logs import (
    DRAFT,
    EVAL,
    POSITIONS,
    PROMPT,
    STATISTICS,
    UPTIME,
    capture,
    new_form,
    old_form,
    pieces,
    read,
    release,
    timing,
)
from tests.serverlog.test_lines import LLAMA_JSONL, OLD_DRAFT

TEXTS = (
    "",
    "some other line",
    PROMPT,
    EVAL,
    DRAFT,
    OLD_DRAFT,
    POSITIONS,
    STATISTICS,
    timing(""),
    timing("", 1, 13),
    timing(PROMPT),
    timing(PROMPT, 1, 13),
    timing(EVAL),
    timing(EVAL, 1, 13),
    timing(DRAFT),
    timing(POSITIONS),
    release(),
    release(1, 13),
    "slot update_slots: id  0 | task 12 | accepted  2/ 3 draft tokens",
    *("\n".join(form) for form in (new_form(), old_form(drafts=OLD_DRAFT), new_form(drafts=None))),
    test_ollama.STATS,
    test_ollama.TWO_LINES.decode(),
    test_ollama.FIRST_FORM,
    test_vllm.PREFIX + test_vllm.WINDOW,
    test_vllm.V0.format(rate=0.556, accepted=5, drafted=9, emitted=6),
    f"[2026-09-27 09:19:23 TP0] {test_sglang.DECODE}",
    test_tabby.METRICS,
    test_tabby.METRICS.replace(" (Queue", "\n(Queue"),
)
WRAPS = ("{}", UPTIME + "{}", "a-1  | {}", "b-1  | {}", "[54321] {}", "2026-11-29T10:00:00Z {}")


def wrapped(text: str, wrap: str) -> str:
    if wrap == "json":
        return "\n".join(LLAMA_JSONL(line) for line in text.splitlines())
    return "\n".join(wrap.format(line) for line in text.splitlines() or [""])


logs = st.lists(
    st.builds(wrapped, st.sampled_from(TEXTS), st.sampled_from((*WRAPS, "json"))), max_size=12
).map(lambda texts: "".join(f"{text}\n" for text in texts).encode())


@st.composite
def damaged_logs(draw: st.DrawFn) -> bytes:
    """Make a log, and change, drop or double a few of its bytes."""
    data = bytearray(draw(logs))
    for _ in range(draw(st.integers(0, 4))):
        if data:
            place = draw(st.integers(0, len(data) - 1))
            data[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(data)


@settings(deadline=None, max_examples=300)
@given(damaged_logs(), st.lists(st.integers(0, 4000), max_size=5))
def test_any_split_gives_the_same(log: bytes, places: list[int]) -> None:
    """Records, their order and all counters do not depend on how the bytes come in."""
    whole = read(log)
    split = read(*pieces(log, places))
    assert split.entries == whole.entries
    assert split.counters == whole.counters


@settings(deadline=None, max_examples=60)
@given(logs)
def test_lines_one_by_one(log: bytes) -> None:
    """A log that is read line by line gives what it gives as a whole."""
    whole, single = read(log), read(*log.splitlines(keepends=True))
    assert single.entries == whole.entries
    assert single.counters == whole.counters


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=300))
@example(b"\xff\xfe")
@example(b"{" * 300)
def test_arbitrary_bytes(data: bytes) -> None:
    """Bytes of any kind are read without an error."""
    read(data)


@settings(deadline=None, max_examples=300)
@given(damaged_logs())
def test_what_is_read_is_possible(log: bytes) -> None:
    """Whatever the damage, no number is given out that cannot be."""
    for entry in read(log).entries:
        assert entry.acceptance is None or entry.acceptance >= 0
        assert entry.output_per_step is None or entry.output_per_step >= 1
        reading = entry.reading
        if reading.drafted is not None:
            assert reading.accepted is not None
            assert 0 <= reading.accepted <= reading.drafted
        if entry.rounds is not None:
            assert 1 <= entry.rounds.low <= entry.rounds.high


@pytest.mark.parametrize("name", ["llama_cpp/draft-simple", "llama_cpp/ngram-mod", "vllm"])
def test_captures_cut_at_random(name: str) -> None:
    """A server's log gives the same in pieces of any size."""
    log = capture(name)
    whole = read(log)
    for seed in range(20):
        places = random.Random(seed).sample(range(len(log)), 6)
        split = read(*pieces(log, places))
        assert (split.entries, split.counters) == (whole.entries, whole.counters)


@pytest.mark.parametrize("form", [new_form(), old_form(drafts=OLD_DRAFT)])
def test_cut_off_after_any_byte(form: list[str]) -> None:
    """A log that ends anywhere in a request gives true numbers or none."""
    log = "".join(f"{text}\n" for text in form).encode()
    for end in range(len(log)):
        for entry in read(log[:end]).entries:
            assert entry.reading.generated in (None, 129)
            assert entry.reading.drafted in (None, 192)
            assert entry.reading.accepted in (None, 64)
            assert entry.prompt_processed in (None, 41)
            assert entry.printed_mean_length in (None, 2.0)
