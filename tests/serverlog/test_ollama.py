"""Ollama's MLX runner."""

import json

import pytest

from specmeter.serverlog.entry import RATIO_DISAGREES
from tests.serverlog.logs import lines, new_form, read

TWO_LINES = b"""\
speculative decode stats  iterations=57 drafted=108 accepted=70
                          acceptance=0.65 avg_draft=1.89 avg_accepted=1.23
"""
PREFIX = "time=2026-08-21T10:00:00.000+00:00 level=INFO source=speculate_stats.go:62 msg="
STATS = (
    f'{PREFIX}"speculative decode stats" iterations=60 drafted=190 accepted=64 acceptance=0.34 '
    'avg_draft=3.17 max_draft=6 avg_accepted=1.07 depth_over_time="0.3/1 2.1/3 4.8/5 5.0/6"'
)
CONTROLLER = f'{PREFIX}"speculation depth controller" cost= acceptance=1:0.90 expected_tps=0:20.0'
FIRST_FORM = (
    'time=2026-05-05T10:00:00.000+00:00 level=INFO source=mtp.go:1 msg="MTP decode stats" '
    "generated=128 drafted=192 accepted=64 acceptance=0.3333333333333333 iterations=63 "
    "avg_draft=3.0476 avg_accepted=1.0158 batched=63 serial=0 mismatches=60 all_accepted=3 "
    "max_draft=4 draft_schedule=constant target_duration=1.2s draft_duration=300ms"
)


def test_the_two_line_form() -> None:
    """57 iterations with 70 of 108 accepted: 0.648, 1.89 a step, and 2.23 tokens a step."""
    entry = read(TWO_LINES).only
    assert f"{entry.acceptance:.3f} {entry.average_draft:.2f} {entry.output_per_step:.2f}" == (
        "0.648 1.89 2.23"
    )
    assert (entry.steps, entry.reading.generated) == (57, 127)
    assert entry.mean_acceptance_length is None


def test_the_line() -> None:
    """Iterations are all target steps, and each adds one token to the accepted ones."""
    entry = read(lines(CONTROLLER, STATS, CONTROLLER)).only
    assert (entry.steps, entry.reading.generated) == (60, 124)
    assert entry.time == "2026-08-21T10:00:00.000+00:00"
    assert entry.faults == ()


def test_the_first_form() -> None:
    """v0.23.1 says itself how much was generated."""
    entry = read(lines(FIRST_FORM)).only
    assert (entry.reading.generated, entry.steps) == (128, 64)
    assert (entry.reading.drafted, entry.reading.accepted) == (192, 64)


@pytest.mark.parametrize("level", ["level=INFO", "level=DEBUG"])
def test_both_levels(level: str) -> None:
    """At which level it is logged changed between versions."""
    assert read(lines(STATS.replace("level=INFO", level))).only.steps == 60


def test_as_json() -> None:
    """A structured logger puts the numbers beside the message."""
    record = {
        "time": "2026-08-21T10:00:00.000Z",
        "level": "INFO",
        "msg": "speculative decode stats",
        "iterations": 57,
        "drafted": 108,
        "accepted": 70,
        "acceptance": 0.65,
    }
    entry = read(lines(json.dumps(record))).only
    assert (entry.steps, entry.reading.accepted) == (57, 70)
    assert entry.time == "2026-08-21T10:00:00.000Z"


def test_beside_the_gguf_runner() -> None:
    """The log of one Ollama may have both runners' lines; they come in the order of the log."""
    entries = read(lines(*new_form(task=1), STATS, *new_form(task=2))).entries
    assert [entry.server for entry in entries] == ["llama.cpp", "Ollama MLX", "llama.cpp"]


def test_a_parked_request_is_absent() -> None:
    """A request that drafted in no iteration has 0 drafted tokens, and each step one token."""
    stats = "speculative decode stats iterations=40 drafted=0 accepted=0 acceptance=0.00"
    entry = read(lines(stats)).only
    assert (entry.output_per_step, entry.acceptance) == (1.0, None)


def test_a_cut_off_line() -> None:
    """Without the printed ratio a number may be cut off: it is counted, and not believed."""
    log = read(STATS.encode()[: STATS.index("64 acceptance") + 1])
    assert (log.entries, log.reader.unreadable) == ([], 1)


def test_a_damaged_number() -> None:
    """A ratio that is not that of its counts betrays a damaged digit."""
    entry = read(lines(STATS.replace("drafted=190", "drafted=790"))).only
    assert entry.faults == (RATIO_DISAGREES,)
    assert (entry.acceptance, entry.average_draft) == (None, None)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("accepted=64", "accepted=-64", "negative"),
        ("accepted=64", "accepted=6x", "wrong_type"),
        ("accepted=64", "accepted=null", "half_reported"),
        ("accepted=64", "accepted=640", "accepted_exceeds_drafted"),
        ("iterations=60", "iterations=-60", "negative"),
        ("drafted=190", f"drafted={'9' * 5000}", "not_finite"),
        ("drafted=190", "drafted=999999999999", "too_large"),
        ("drafted=190", "drafted=nan", "not_finite"),
    ],
)
def test_impossible_numbers(old: str, new: str, fault: str) -> None:
    """A number that cannot be true is left out, and its kind kept."""
    assert fault in read(lines(STATS.replace(old, new))).only.faults


def test_another_programs_stats() -> None:
    """A line with the same words and other keys is none of Ollama's, and no damage."""
    line = 'INFO speculative decode stats spec_attempts=3 spec_accepted_total=2 accuracy="66.7%"'
    log = read(lines(line))
    assert (log.entries, log.reader.unreadable) == ([], 0)
