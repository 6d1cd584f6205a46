"""What is written of a comparison."""

import json
from typing import Any

from msgspec.structs import replace

from specmeter.compare import findings
from specmeter.compare.findings import TIMES, ServerFacts
from specmeter.compare.plan import Side
from specmeter.compare.report import Report, as_json
from specmeter.compare.results import Results, drafting
from specmeter.compare.samples import Cell, Drafting
from specmeter.compare.text import as_markdown, as_text
from specmeter.reading import Clock, Reading
from tests.compare.runs import reading, run

SPEC = ServerFacts(
    url="http://127.0.0.1:1", model="m", backend="llama_cpp", build="b1-a", clock=Clock.SERVER
)
PLAIN = replace(SPEC, url="http://127.0.0.1:2")
CODE, PROSE = Cell("code", 100), Cell("prose|<x>", 100)


def report(spec: ServerFacts = SPEC, plain: ServerFacts = PLAIN, **more: Any) -> Report:
    """Make a report: code is faster, prose slower, acceptance 0.5 and 0.8."""
    ours = [run(CODE, reading(100.0 + at, drafted=100, accepted=50)) for at in range(3)]
    ours += [run(PROSE, reading(20.0 + at, drafted=100, accepted=80)) for at in range(3)]
    theirs = [run(CODE, reading(50.0 + at)) for at in range(3)]
    theirs += [run(PROSE, reading(50.0 + at), "b") for at in range(3)]
    sides = {Side.SPEC: ours, Side.PLAIN: theirs}
    known: dict[str, Any] = {
        "tool": "specmeter 1",
        "measured": "2026-01-01T00:00:00+00:00",
        "seed": 7,
        "repeats": 3,
        "concurrency": 1,
        "is_complete": True,
        "servers": {Side.SPEC: spec, Side.PLAIN: plain},
        "drafting": {side: drafting(runs) for side, runs in sides.items()},
        "results": Results.of([CODE, PROSE], ours, theirs),
    }
    return Report(**{**known, **more})


class TestText:
    def test_says_drafts_numbers_and_verdicts(self) -> None:
        """Each ratio with what it was divided from; each verdict with its far end."""
        text = "\n".join(as_text(report()))
        assert "drafted in 6 of 6 completions" in text
        assert "acceptance              0.65 = 390 accepted / 600 drafted" in text
        assert "output per target step  2.81 = 606 tokens / 216 target steps" in text
        assert f"faster, at worst 1.92{TIMES}" in text
        assert f"slower, at best 0.44{TIMES}" in text
        assert "the same build" in text
        assert "some are faster and some slower: look at each" in text
        assert "--seed 7" in text

    def test_says_that_outputs_differ(self) -> None:
        """With how many cells."""
        assert any("outputs differ in 1 of 2 cells" in line for line in as_text(report()))

    def test_says_that_it_was_broken_off(self) -> None:
        """At its end."""
        assert as_text(report(is_complete=False))[-1].endswith("broken off before its end")

    def test_columns_stand_below_each_other(self) -> None:
        """Every row is as wide as its headings up to the verdict."""
        lines = as_text(report())
        at = next(index for index, line in enumerate(lines) if line.startswith("prompt"))
        column = lines[at].index("verdict")
        for line in lines[at + 1 : at + 4]:
            assert line[column - 1] == " "
            assert line[column] != " "


class TestMarkdown:
    def test_is_a_table(self) -> None:
        """Every row has as many cells, whatever a prompt's name holds."""
        lines = as_markdown(report())
        rows = [line.replace("\\|", "") for line in lines if line.startswith("|")]
        assert len(rows) == 2 + 3
        assert len({row.count("|") for row in rows}) == 1
        assert any("prose\\|&lt;x>" in line for line in lines)

    def test_begins_with_the_verdict(self) -> None:
        """In bold."""
        assert as_markdown(report())[0].startswith(f"**verdict: slower, at best 0.72{TIMES}")


class TestJson:
    def test_holds_everything_with_denominators(self) -> None:
        """Unknown numbers are absent, and no output is in it."""
        content = json.loads(as_json(report()))
        assert [one["verdict"] for one in content["cells"]] == ["faster", "slower"]
        code = content["cells"][0]
        assert code["speedup"] == 101 / 51
        assert code["worst_case"] == 100 / 52
        assert code["best_case"] == 102 / 50
        assert code["acceptance"] == {"value": 0.5, "accepted": 150, "drafted": 300}
        assert code["plain_tokens_per_second"] == {
            "median": 51,
            "slowest": 50,
            "fastest": 52,
            "repeats": 3,
            "range_ratio": 1.04,
        }
        assert content["overall"]["verdict"] == "slower"
        assert content["servers"]["plain"]["output_per_target_step"]["value"] == 1
        assert "acceptance" not in content["servers"]["plain"]
        assert "mean_acceptance_length" not in content["servers"]["spec"]
        assert content["servers"]["spec"]["clock"] == "server"

    def test_nothing_measured_has_no_overall(self) -> None:
        """Rather than a verdict from nothing."""
        content = json.loads(as_json(report(results=Results((), ()))))
        assert "overall" not in content
        assert content["cells"] == []


class TestFindings:
    def test_no_drafts_are_explained(self) -> None:
        """By what the server says of itself."""
        none = Drafting.of([Reading(generated=9, drafted=0, accepted=0)])
        silent = Drafting.of([Reading(generated=9)])
        said = {
            speculates: findings.drafts(none, replace(SPEC, speculates=speculates))
            for speculates in (None, True, False)
        }
        assert said[None] == "nothing was drafted: speculation is off, or found no candidate"
        assert said[True] == "nothing was drafted: speculation is on, and found no candidate"
        assert said[False].startswith("nothing was drafted: speculation is off")
        assert findings.drafts(silent, SPEC).startswith("not reported")
        vllm = findings.drafts(silent, replace(SPEC, backend="vllm"))
        assert "--per-request-spec-decode-metrics" in vllm

    def test_builds_are_compared(self) -> None:
        """Different ones are told, and so is that they are not known."""
        assert findings.builds(SPEC, PLAIN) == "the same build"
        assert findings.builds(SPEC, replace(PLAIN, build="b2")).startswith("different builds")
        assert findings.builds(SPEC, replace(PLAIN, build="")).startswith("builds not compared")
        assert findings.builds(SPEC, replace(PLAIN, model="n")).endswith(
            "models of different names"
        )

    def test_clocks_that_differ_are_told(self) -> None:
        """And the proxy's own clock too."""
        proxy = replace(PLAIN, clock=Clock.PROXY)
        mixed = findings.notes(report().results, SPEC, proxy, 3)
        assert any("make both report them" in note for note in mixed)
        own = findings.notes(report().results, proxy, proxy, 3)
        assert any("from streams" in note for note in own)

    def test_one_repeat_is_told(self) -> None:
        """It shows no noise."""
        notes = findings.notes(report().results, SPEC, PLAIN, 1)
        assert any("one repeat shows no noise" in note for note in notes)

    def test_answers_that_ended_early_are_told(self) -> None:
        """With the tokens they had."""
        cell = Cell("code", 500)
        results = Results.of([cell], [run(cell, reading())], [run(cell, reading())])
        notes = findings.notes(results, SPEC, PLAIN, 3)
        assert "code, 500 tokens: the answers ended by themselves after 101" in notes

    def test_a_memory_is_told(self) -> None:
        """The verdict on new prompts stands beside that on all."""
        cells = [Cell(name, 100) for name in "abcdef"]
        ours = [run(cell, reading(drafted=9, accepted=0), is_new=True) for cell in cells]
        ours += [run(cell, reading(200.0, drafted=90, accepted=80)) for cell in cells] * 2
        theirs = [run(cell, reading()) for cell in cells for _ in range(3)]
        results = Results.of(cells, ours, theirs)
        lines = as_text(report(results=results))
        assert any(
            line.startswith(f"new to the drafter: 1.00{TIMES} over 6 prompts") for line in lines
        )
        assert any("the drafter remembers" in line for line in lines)
