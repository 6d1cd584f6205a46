"""What is shown: rows, totals with their denominators, notes, JSON and CSV."""

import csv
import io
import json
from collections.abc import Sequence

import pytest

from specmeter.serverlog.entry import Entry
from specmeter.serverlog.export import FIELDS, CsvExport, JsonExport, record
from specmeter.serverlog.notes import notes
from specmeter.serverlog.report import table, totals_lines
from specmeter.serverlog.rows import SORT_KEYS, Rows
from specmeter.serverlog.totals import Totals
from tests.serverlog import test_ollama, test_sglang, test_vllm
from tests.serverlog.logs import (
    DRAFT,
    EVAL,
    UPTIME,
    Log,
    capture,
    lines,
    new_form,
    old_form,
    read,
    release,
    timing,
)

DASH = "\N{EN DASH}"


def totals_of(entries: Sequence[Entry]) -> list[Totals]:
    by_server: dict[str, Totals] = {}
    for entry in entries:
        known = by_server.setdefault(entry.server, Totals(entry.server, is_window=entry.is_window))
        known.add(entry)
    return list(by_server.values())


def shown(log: Log, width: int | None = None) -> list[dict[str, str]]:
    """Return the table's rows, each cell by its column's name."""
    head, *rows = table(log.entries, totals_of(log.entries), width)
    names = [name for name in head.split("  ") if name.strip()]
    ends = [head.index(name) + len(name) for name in names]
    starts = [0, *ends[:-1]]
    # Text is left-aligned: its cells end before the next column's name begins.
    texts = {"time", "slot/task", "request", "source", "server"}
    for place, name in enumerate(names[:-1]):
        if name.strip() in texts:
            ends[place] = starts[place + 1] = head.index(names[place + 1])
    return [
        {
            name.strip(): row[start:end].strip()
            for name, start, end in zip(names, starts, ends, strict=True)
        }
        for row in rows
    ]


def sentences(log: Log) -> str:
    return "\n".join(line for total in totals_of(log.entries) for line in totals_lines(total))


class TestTable:
    """The table of the records."""

    def test_the_two_line_form(self) -> None:
        """Iterations, drafted, accepted, and the three ratios as the design has them."""
        row, total = shown(read(test_ollama.TWO_LINES))
        for line in (row, total):
            assert line["steps"] == "57"
            assert line["drafted"] == "108"
            assert line["accepted"] == "70"
            assert line["acceptance"] == "0.648"
            assert line["avg draft"] == "1.89"
            assert line["output/step"] == "2.23"
            assert line["mean len"] == DASH

    def test_unknown_is_a_dash(self) -> None:
        """Numbers that a window does not have are dashes, never 0."""
        row, total = shown(read(lines(test_vllm.PREFIX + test_vllm.WINDOW)))
        for line in (row, total):
            assert line["steps"] == line["avg draft"] == line["output/step"] == DASH
            assert line["mean len"] == "3.07"

    def test_columns_that_nothing_fills_are_left_out(self) -> None:
        """No request, no speed: no column for them."""
        row, _ = shown(read(lines(f"[2026-09-27 09:19:23 TP0] {test_sglang.DECODE}")))
        assert not {"slot/task", "request", "prompt", "tokens", "rounds", "tok/s", "source"} & set(
            row
        )

    def test_several_servers_and_sources(self) -> None:
        """They get a column each, and a total row each."""
        log = read(lines(*(f"a  | {text}" for text in new_form()), f"b  | {test_ollama.STATS}"))
        first, second, *total = shown(log)
        assert (first["server"], first["source"]) == ("llama.cpp", "a")
        assert (second["server"], second["source"]) == ("Ollama MLX", "b")
        assert [row["server"] for row in total] == ["llama.cpp", "Ollama MLX"]

    def test_a_narrow_terminal(self) -> None:
        """What matters less gives way; the ratios stay."""
        log = read(lines(*(UPTIME + text for text in new_form())))
        assert max(map(len, table(log.entries, totals_of(log.entries), None))) > 100
        narrow = table(log.entries, totals_of(log.entries), 80)
        assert max(map(len, narrow)) <= 80
        assert "output/step" in narrow[0]
        assert "prompt" not in narrow[0]

    def test_open_rounds_are_a_span(self) -> None:
        """Rounds that the log leaves open are shown as a span, and so is a mean of them."""
        draft = "draft acceptance = 0.63658 ( 1093 accepted /  1717 generated), mean len =  3.33"
        row, total = shown(read(lines(timing(EVAL), timing(draft), release())))
        assert (row["rounds"], total["rounds"]) == ("469-470", "469-470")
        assert (row["mean len"], total["mean len"]) == ("3.33", "3.33")


class TestTotals:
    """The totals say what was divided by what."""

    def test_of_a_capture(self) -> None:
        """Each ratio has its own denominator."""
        text = sentences(read(capture("llama_cpp/ngram-mod")))
        for part in (
            "llama.cpp: 16 requests, 11 of them with a draft",
            "0.631 = 472 accepted / 748 drafted",
            "2.74 = 748 drafted / 273 target steps",
            "2.68 = 731 tokens / 273 target steps",
            "25.84 = 1 + 472 accepted / 19 rounds with a draft",
            "715 decoded / 8.15 decode seconds",
        ):
            assert part in text

    def test_requests_without_tokens_are_in_no_step_ratio(self) -> None:
        """A draft line alone adds to acceptance, not to output per step."""
        log = read(lines(*new_form(), timing(DRAFT, slot=1)))
        (total,) = totals_of(log.entries)
        assert total.acceptance.denominator == 384
        assert (total.output_per_step.numerator, total.output_per_step.denominator) == (129, 65)

    def test_requests_that_report_nothing(self) -> None:
        """Tokens of which nothing is known are in no ratio with drafted ones."""
        (total,) = totals_of(read(lines(*old_form(task=1))).entries)
        assert total.output_per_step.value is None
        assert "the log does not tell" in "\n".join(totals_lines(total))

    def test_windows(self) -> None:
        """The windows of vLLM add up, their positions too."""
        text = sentences(read(capture("vllm")))
        assert "3.75 = 1 + 179 accepted / 65 rounds with a draft" in text
        assert "0.78 0.72 0.66 0.58 = accepted / 65 rounds" in text
        assert f"output per target step  {DASH} (the log does not count the tokens" in text

    def test_ratios_alone(self) -> None:
        """SGLang's ratios have no counts: their mean says how it was made."""
        log = read(lines(test_sglang.DECODE, test_sglang.DECODE.replace("2.70", "3.30")))
        assert "3.00 = mean of 2 intervals, each counted the same" in sentences(log)

    def test_v0(self) -> None:
        """V0's rounds bring back what they emit."""
        log = read(lines(test_vllm.V0.format(rate=0.543, accepted=44, drafted=81, emitted=33)))
        assert "1.22 = 33 emitted / 27 rounds with a draft" in sentences(log)
        assert any("vLLM V0" in note for note in notes(log.reader, totals_of(log.entries)))

    def test_spans_add_up(self) -> None:
        """The mean over open rounds is a span with the truth in it."""
        draft = "draft acceptance = 0.00000 (    0 accepted /    64 generated), mean len =  1.00"
        log = read(lines(*new_form(), *new_form(task=13, drafts=draft)))
        (total,) = totals_of(log.entries)
        low, high = total.mean_acceptance_length or (0, 0)
        assert low == pytest.approx(1 + 64 / (64 + 64))
        assert high == pytest.approx(1 + 64 / (64 + 1))
        assert "1.50-1.98" in sentences(log)
        assert "65-128 rounds with a draft (as far as rounded means tell)" in sentences(log)


class TestNotes:
    """What is said of damage."""

    def test_counted_by_reason(self) -> None:
        """Impossible numbers are counted by their reasons."""
        forms = [
            new_form(task=1, drafts=DRAFT.replace("64 acc", "640 acc")),
            new_form(task=2, drafts=DRAFT.replace("64 acc", "640 acc")),
            new_form(task=3, drafts=DRAFT.replace("64 acc", "-64 acc")),
            new_form(task=4, drafts=DRAFT[:40]),
            [release(task=5)],
        ]
        log = read(lines(*(UPTIME + text for form in forms for text in form)))
        said = list(notes(log.reader, totals_of(log.entries)))
        assert said == [
            (
                "3 records had impossible numbers, which are left out: "
                "accepted_exceeds_drafted 2, negative 1"
            ),
            "1 line with draft numbers could not be read (cut off or damaged)",
            "1 request ended without numbers (cancelled, failed, or no completion)",
        ]

    def test_nothing_accepted(self) -> None:
        """Drafts of which none is ever accepted are a pure loss, and it is said."""
        draft = "draft acceptance = 0.00000 (    0 accepted /    64 generated), mean len =  1.00"
        log = read(lines(*new_form(drafts=draft)))
        assert "none of 64 drafted tokens" in next(notes(log.reader, totals_of(log.entries)))

    def test_synthetic_acceptance(self) -> None:
        """A benchmark's made-up acceptance is told from a real one."""
        warning = "synthetic speculative acceptance is enabled for benchmarking; generated output"
        log = read(lines(f"srv  load_model: {warning} is not valid", *new_form()))
        assert any("at random" in note for note in notes(log.reader, totals_of(log.entries)))

    def test_nothing_to_say(self) -> None:
        """A sound log has no notes."""
        log = read(lines(*new_form()))
        assert list(notes(log.reader, totals_of(log.entries))) == []


class TestRows:
    """The rows are bounded, whatever the length of the log."""

    def test_the_last_ones(self) -> None:
        """Without a key the newest are kept."""
        rows = Rows(2)
        for task in range(5):
            rows.add(Entry(server="x", task=task))
        assert [entry.task for entry in rows.kept()] == [3, 4]
        assert rows.left_out == 3

    @pytest.mark.parametrize("smallest_first", [False, True])
    def test_sorted(self, smallest_first: bool) -> None:
        """With a key the first of its order are kept; unknown ones come last."""
        rows = Rows(4, "steps", smallest_first=smallest_first)
        for steps in (5, None, 1, 9, 5, None, 7):
            rows.add(Entry(server="x", steps=steps))
        expected = [1, 5, 5, 7] if smallest_first else [9, 7, 5, 5]
        assert [entry.steps for entry in rows.kept()] == expected
        rows = Rows(None, "steps", smallest_first=smallest_first)
        for steps in (None, 3):
            rows.add(Entry(server="x", steps=steps))
        assert [entry.steps for entry in rows.kept()] == [3, None]

    def test_equal_ones_stay_in_order(self) -> None:
        """Of equal records the first of the log comes first."""
        rows = Rows(2, "steps")
        for task in range(4):
            rows.add(Entry(server="x", steps=3, task=task))
        assert [entry.task for entry in rows.kept()] == [0, 1]

    @pytest.mark.parametrize("key", SORT_KEYS)
    def test_every_key(self, key: str) -> None:
        """Every key sorts the records of a real log."""
        rows = Rows(None, key)
        for entry in read(capture("llama_cpp/ngram-mod")).entries:
            rows.add(entry)
        values = [SORT_KEYS[key](entry) for entry in rows.kept()]
        known = [value for value in values if value is not None]
        assert known == sorted(known, reverse=True)
        assert values[len(known) :] == [None] * (len(values) - len(known))

    def test_none(self) -> None:
        """No rows at all, for who wants the totals only."""
        rows = Rows(0)
        rows.add(Entry(server="x"))
        assert (rows.kept(), rows.left_out) == ([], 1)


class TestExport:
    """JSON and CSV."""

    def test_json(self) -> None:
        """The numbers of each record by name, unknown ones absent; and the totals."""
        log = read(test_ollama.TWO_LINES)
        out = io.StringIO()
        export = JsonExport(out)
        export.add(log.only)
        export.add(log.only)
        export.close(totals_of(log.entries), {"lines": 2})
        parsed = json.loads(out.getvalue())
        assert parsed["entries"][0] == {
            "server": "Ollama MLX",
            "kind": "request",
            "generated_tokens": 127,
            "target_steps": 57,
            "drafted_tokens": 108,
            "accepted_tokens": 70,
            "acceptance": 0.648148,
            "average_draft": 1.894737,
            "output_per_target_step": 2.22807,
        }
        assert parsed["totals"][0]["output_per_target_step"] == 2.22807
        assert parsed["totals"][0]["target_steps"] == 57
        assert parsed["lines"] == 2

    def test_json_of_nothing(self) -> None:
        """A log without records is an object with an empty list."""
        out = io.StringIO()
        JsonExport(out).close([], {"lines": 0})
        assert json.loads(out.getvalue()) == {"entries": [], "totals": [], "lines": 0}

    def test_spans_in_json(self) -> None:
        """Rounds that are open are two numbers under a name of their own."""
        draft = "draft acceptance = 0.63658 ( 1093 accepted /  1717 generated), mean len =  3.33"
        fields = record(read(lines(timing(draft))).only)
        assert fields["rounds_between"] == [469, 470]
        assert "rounds" not in fields
        fields = record(read(lines(test_vllm.WINDOW)).only)
        assert fields["rounds"] == 68
        assert fields["accepted_per_position"] == (61, 46, 34)

    def test_csv(self) -> None:
        """One row a record, empty where a number is unknown."""
        entries = read(capture("vllm")).entries
        out = io.StringIO()
        export = CsvExport(out)
        for entry in entries:
            export.add(entry)
        export.close(totals_of(entries), {})
        rows = list(csv.DictReader(io.StringIO(out.getvalue())))
        assert tuple(rows[0]) == FIELDS
        assert [row["rounds"] for row in rows] == ["5", "15", "5", "18", "22"]
        assert rows[0]["generated_tokens"] == rows[0]["output_per_target_step"] == ""
        assert rows[0]["accepted_per_position"] == "5 5 5 4"
