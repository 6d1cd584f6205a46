"""Logs of real servers against what the same servers said in their answers and metrics."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from specmeter.backends.llama_cpp import LlamaCpp
from specmeter.reading import Reading, check
from specmeter.serverlog.entry import Entry
from tests.serverlog.logs import CAPTURES, capture, read

SERVERS = ["plain", "draft-simple", "ngram-mod"]


def answers(folder: Path) -> list[Reading]:
    """Return what the answers with timings say."""
    found = []
    for path in sorted(folder.glob("*.body")):
        messages: list[dict[str, Any]] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            text = line.removeprefix("data: ")
            if text.startswith("{") and '"timings"' in text:
                messages.append(json.loads(text))
        if messages:
            found += [check(raw) for raw in LlamaCpp().extract(messages).numbers]
    return found


def metrics(folder: Path) -> dict[str, float]:
    text = (folder / "metrics.txt").read_text(encoding="utf-8")
    return {name: float(value) for name, value in re.findall(r"^(\S+) (\S+)$", text, re.MULTILINE)}


def total(entries: list[Entry], name: str) -> int:
    return sum(getattr(entry.reading, name) or 0 for entry in entries)


@pytest.mark.parametrize("name", SERVERS)
def test_answers(name: str) -> None:
    """Every answer's numbers are those of one request of the log."""
    entries = read(capture(f"llama_cpp/{name}")).entries
    left = [
        (
            entry.reading.generated,
            entry.reading.drafted,
            entry.reading.accepted,
            round((entry.reading.decode_seconds or 0) * 1e5),
        )
        for entry in entries
    ]
    known = answers(CAPTURES / "llama_cpp" / name)
    assert len(known) > 8
    for reading in known:
        milliseconds = (reading.decode_seconds or 0) * 1000
        left.remove(
            (
                reading.generated,
                reading.drafted,
                reading.accepted,
                round(round(milliseconds, 2) * 100),
            )
        )
    # Without timings in their answers: /v1/messages, /v1/responses, a second choice.
    assert len(left) <= 5


@pytest.mark.parametrize("name", SERVERS)
def test_steps(name: str) -> None:
    """Target steps are those that the answers give, or more where rounds are known better."""
    for entry in read(capture(f"llama_cpp/{name}")).entries:
        assert entry.steps is not None
        assert entry.steps >= (entry.reading.target_steps or 0)
        if entry.rounds is not None:
            assert entry.rounds.exact is not None
            assert entry.steps > entry.rounds.exact - 2


@pytest.mark.parametrize("name", SERVERS)
def test_metrics(name: str) -> None:
    """The server's counters are the log's, and what its cancelled requests add."""
    log = read(capture(f"llama_cpp/{name}"))
    known = metrics(CAPTURES / "llama_cpp" / name)
    prefix = "llamacpp:spec_decode_num_"
    cancelled = int(known["llamacpp:tokens_predicted_total"]) - total(log.entries, "generated")
    drafted = int(known[f"{prefix}draft_tokens_total"]) - total(log.entries, "drafted")
    accepted = int(known[f"{prefix}accepted_tokens_total"]) - total(log.entries, "accepted")
    rounds = int(known[f"{prefix}drafts_total"]) - total(log.entries, "rounds")
    assert log.reader.untimed == 2
    assert 0 <= accepted <= drafted
    assert rounds <= drafted
    assert accepted < cancelled < 100
    if name == "plain":
        assert drafted == rounds == 0


def test_vllm_metrics() -> None:
    """The windows of vLLM's log add up to its counters."""
    entries = read(capture("vllm")).entries
    text = (CAPTURES / "vllm" / "metrics.txt").read_text(encoding="utf-8")
    for name, counter in (
        ("rounds", "drafts"),
        ("drafted", "draft_tokens"),
        ("accepted", "accepted_tokens"),
    ):
        match = re.search(rf"^vllm:spec_decode_num_{counter}_total\S* (\S+)$", text, re.MULTILINE)
        assert match is not None
        assert total(entries, name) == float(match[1])
