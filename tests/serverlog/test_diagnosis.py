"""Why nothing was drafted: which step of the check failed."""

import pytest

from specmeter.serverlog.diagnosis import Diagnosis, diagnose
from tests.serverlog import test_sglang, test_tabby, test_vllm
from tests.serverlog.logs import capture, lines, new_form, old_form, read, release
from tests.serverlog.test_report import totals_of

PLAIN = new_form(drafts=None)
NO_IMPLEMENTATION = (
    "0.01.250.741 W common_speculative_init: no implementations specified for speculative decoding"
)
DRAFT_MODEL = "0.00.639.310 I common_speculative_init_result: loading draft model 'models/x.gguf'"
ADDED = "0.10.242.768 I spec common_specu: adding speculative implementation 'ngram-mod'"
CONTEXT = "0.10.273.021 I srv    load_model: speculative decoding context initialized"
STATISTICS = "statistics ngram_mod: #calls = 810, #gen drafts = 0, #acc drafts = 0, #gen tokens = 0"
ENGINE = (
    "(APIServer pid=1) INFO 11-29 14:11:13 [loggers.py:335] Engine 000: Avg prompt throughput: "
)
VLLM = f"{ENGINE}7.2 tokens/s, Avg generation throughput: 2.9 tokens/s, Running: 1 reqs"


def diagnosis_of(log: bytes) -> Diagnosis:
    found = read(log)
    diagnosis = diagnose(found.reader, totals_of(found.entries))
    assert diagnosis is not None
    return diagnosis


CASES = {
    "empty": (b"", 0, "a known server: no", "stderr"),
    "another program's log": (b"GET / 200\n" * 9, 0, "none of its 9 lines", "stderr"),
    "no request": (lines("srv  llama_server: model loaded"), 1, "finished requests: no", "a compl"),
    "cancelled only": (lines(release()), 1, "1 ended without", "cancelled"),
    "old build": (lines(*old_form()), 2, "not certain", "March 2025"),
    "off, or no candidate": (lines(*PLAIN), 2, "lines about drafts: no", "--spec-type"),
    "draft model alone": (
        lines(DRAFT_MODEL, NO_IMPLEMENTATION, *PLAIN),
        2,
        "no implementations specified",
        "--spec-type draft-simple",
    ),
    "no type": (
        lines(NO_IMPLEMENTATION, *PLAIN),
        2,
        "no implementations specified",
        "--spec-type",
    ),
    "draft model, no more said": (
        lines(DRAFT_MODEL, *PLAIN),
        2,
        "a draft model was loaded",
        "--spec-type",
    ),
    "no candidate (implementation)": (
        lines(ADDED, *PLAIN),
        3,
        "a candidate to draft: no",
        "repeat",
    ),
    "no candidate (context)": (lines(CONTEXT, *PLAIN), 3, "a candidate to draft: no", "repeat"),
    "no candidate (statistics)": (lines(*PLAIN, STATISTICS), 3, "a candidate to draft: no", "repe"),
    "not supported": (
        lines("W srv load_model: speculative decoding not supported by this context", *PLAIN),
        2,
        "not supported",
        "rolled back",
    ),
    "vLLM, said off": (
        lines("engine config: speculative_config=None, x", VLLM),
        1,
        "=None",
        "--sp",
    ),
    "vLLM, said on": (
        lines("config: speculative_config=SpeculativeConfig(method='ngram')", VLLM),
        2,
        "'SpecDecoding metrics' lines: no",
        "--disable-log-stats",
    ),
    "vLLM, nothing said": (lines(VLLM), 1, "'SpecDecoding metrics' lines: no", "10 s"),
    "vLLM, nothing in a window": (
        lines(test_vllm.FIRST.replace("141", "0").replace("204", "0").replace("69.1", "nan")),
        1,
        "'SpecDecoding metrics'",
        "10 s",
    ),
    "SGLang": (lines(test_sglang.PLAIN), 1, "'accept len'", "--speculative-algorithm"),
    "TabbyAPI": (lines(test_tabby.PLAIN), 2, "lines about drafts: no", "draft_mode"),
    "Ollama": (lines('level=INFO msg="starting mlx runner subprocess"'), 1, "drafts: no", "0.32.6"),
    "Ollama, parked": (
        lines("speculative decode stats iterations=40 drafted=0 accepted=0 acceptance=0.00"),
        2,
        "a candidate to draft: no",
        "repeats",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_step_that_failed(name: str) -> None:
    """The steps before it passed, it says what is missing, and what to do about it."""
    log, passed, failed, remedy = CASES[name]
    diagnosis = diagnosis_of(log)
    assert len(diagnosis.passed) == passed
    assert failed in diagnosis.failed
    assert remedy in diagnosis.remedy
    assert len(diagnosis.lines()) == passed + 3


@pytest.mark.parametrize("name", ["llama_cpp/draft-simple", "llama_cpp/ngram-mod", "vllm"])
def test_drafts_need_none(name: str) -> None:
    """A log with drafts has no diagnosis."""
    log = read(capture(name))
    assert diagnose(log.reader, totals_of(log.entries)) is None


def test_the_capture_of_a_plain_server() -> None:
    """A real server without speculation: requests finished, no line about drafts."""
    diagnosis = diagnosis_of(capture("llama_cpp/plain"))
    assert "finished requests (16)" in diagnosis.passed
    assert "lines about drafts: no" in diagnosis.failed
