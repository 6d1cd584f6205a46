"""llama.cpp's lines, in every form they had."""

import pytest

from specmeter.reading import Speculation
from specmeter.serverlog.entry import Entry
from tests.serverlog.logs import (
    DRAFT,
    EVAL,
    GRAPHS,
    POSITIONS,
    PROMPT,
    STATISTICS,
    TOTAL,
    UPTIME,
    lines,
    new_form,
    old_form,
    read,
    release,
    timing,
)

OLD_DRAFT = "draft acceptance rate = 0.57576 (  171 accepted /   297 generated)"


def numbers(entry: Entry) -> tuple[int | None, ...]:
    reading = entry.reading
    return (entry.steps, reading.generated, reading.drafted, reading.accepted)


class TestNewForm:
    """A head on every line, since May 2026."""

    def test_a_request(self) -> None:
        """Every number of a request is read, and the three ratios keep their denominators."""
        entry = read(lines(*(UPTIME + text for text in new_form()))).only
        assert numbers(entry) == (65, 129, 192, 64)
        assert (entry.slot, entry.task, entry.time) == (0, 12, "0.12.345.678")
        assert (entry.prompt_processed, entry.reading.decode_seconds) == (41, 1.6)
        assert entry.acceptance == pytest.approx(64 / 192)
        assert entry.average_draft == pytest.approx(192 / 65)
        assert entry.output_per_step == pytest.approx(129 / 65)
        assert entry.tokens_per_second == pytest.approx(128 / 1.6)
        assert entry.printed_mean_length == 2.0

    def test_without_clock(self) -> None:
        """A server with --no-log-prefix, as Ollama starts it, gives the same but for the time."""
        entry = read(lines(*new_form())).only
        assert (numbers(entry), entry.time) == ((65, 129, 192, 64), None)

    def test_rounds_of_a_mean_length(self) -> None:
        """Many tokens leave the rounds open; they are a span then, and the mean is as printed."""
        draft = "draft acceptance = 0.63658 ( 1093 accepted /  1717 generated), mean len =  3.33"
        evaluated = "eval time = 156488.86 ms / 1793 tokens (87.28 ms per token, 11.46 tokens"
        entry = read(lines(timing(evaluated), timing(draft), release())).only
        assert entry.rounds is not None
        assert (entry.rounds.low, entry.rounds.high) == (469, 470)
        assert entry.rounds.exact is entry.reading.rounds is None
        assert entry.mean_acceptance_length == 3.33

    def test_rounds_of_positions(self) -> None:
        """With the rates of the positions (at -lv 4) the rounds and their counts are certain."""
        request = new_form()
        request[5:5] = [timing(POSITIONS), f"spec common_specu: {STATISTICS}"]
        for log in (lines(*request), lines(*(UPTIME + text for text in request))):
            entry = read(log).only
            assert entry.reading.rounds == 64
            assert entry.reading.accepted_per_position == (40, 17, 7)
            assert entry.mean_acceptance_length == 2.0
            assert entry.rates == (0.625, 0.266, 0.109)

    def test_rounds_of_a_mean_length_that_is_enough(self) -> None:
        """Few tokens leave one number of rounds only, and then the mean is counted from it."""
        draft = "draft acceptance = 1.00000 (   95 accepted /    95 generated), mean len =  3.97"
        entry = read(lines(*new_form(drafts=draft))).only
        assert entry.reading.rounds == 32
        assert entry.mean_acceptance_length == pytest.approx(1 + 95 / 32)

    def test_nothing_drafted(self) -> None:
        """A request that ends without a draft line drafted nothing: that is a 0 that is known."""
        entry = read(lines(*new_form(drafts=None))).only
        assert entry.reading.speculation is Speculation.NOT_DRAFTED
        assert numbers(entry) == (129, 129, 0, 0)
        assert (entry.acceptance, entry.mean_acceptance_length) == (None, None)
        assert entry.output_per_step == 1.0

    def test_cut_off_before_the_draft_line(self) -> None:
        """Where the log ends before the request, a missing draft line tells nothing."""
        entry = read(lines(timing(PROMPT), timing(EVAL))).only
        assert entry.reading.speculation is Speculation.NOT_REPORTED
        assert entry.steps is None

    def test_june_2026(self) -> None:
        """The form with the positions on the draft line."""
        draft = (
            "draft acceptance = 0.64479 (  167 accepted /   259 generated), "
            "mean acceptance length =  2.92, acceptance rate per position = (0.805, 0.632, 0.483)"
        )
        evaluated = (
            "eval time = 2296.72 ms / 256 tokens (8.97 ms per token, 111.46 tokens per second)"
        )
        entry = read(
            lines(timing(PROMPT), timing(evaluated), timing(draft), STATISTICS, release())
        ).only
        assert numbers(entry) == (89, 256, 259, 167)
        assert entry.reading.rounds == 87
        assert entry.reading.accepted_per_position == (70, 55, 42)

    def test_interleaved_slots(self) -> None:
        """Lines of two slots that come in turns stay apart."""
        one = new_form(slot=0, task=3)
        draft = "draft acceptance = 0.50000 (    5 accepted /    10 generated), mean len =  2.00"
        two = new_form(slot=1, task=4, drafts=draft)
        mixed = [text for pair in zip(one, two, strict=True) for text in pair]
        first, second = read(lines(*mixed)).entries
        assert (first.slot, numbers(first)) == (0, (65, 129, 192, 64))
        assert (second.slot, numbers(second)) == (1, (124, 129, 10, 5))

    def test_progress_lines(self) -> None:
        """The lines that count while a request runs are none of its numbers."""
        progress = timing("n_gen =    109, tg =  34.99 t/s, tg_3s =  35.31 t/s")
        assert numbers(read(lines(progress, *new_form())).only) == (65, 129, 192, 64)

    def test_a_restarted_server(self) -> None:
        """After a restart the tasks are counted from 0 again: these are requests of their own."""
        assert len(read(lines(*new_form(task=0), *new_form(task=0))).entries) == 2

    def test_cancelled(self) -> None:
        """A request that ends without its times is counted, and gives no record."""
        log = read(lines(*new_form(), release(slot=1, task=40), release(slot=1, task=41)))
        assert (len(log.entries), log.reader.untimed) == (1, 2)

    def test_grepped_draft_lines(self) -> None:
        """Draft lines alone give acceptance; what needs the generated tokens is unknown."""
        entries = read(lines(timing(DRAFT, task=1), timing(DRAFT, task=2))).entries
        assert [entry.acceptance for entry in entries] == [pytest.approx(1 / 3)] * 2
        assert [entry.output_per_step for entry in entries] == [None, None]

    def test_grepped_lines_without_the_end(self) -> None:
        """The next request of a slot ends the one before, also if its tasks are the same."""
        one = [timing(PROMPT), timing(EVAL), timing(DRAFT)]
        assert [numbers(entry) for entry in read(lines(*one, *one)).entries] == [
            (65, 129, 192, 64)
        ] * 2

    def test_stop_in_the_middle_of_a_round(self) -> None:
        """Accepted tokens that were never put out leave the fewest steps that are possible."""
        evaluated = (
            "eval time = 382.38 ms / 10 tokens (42.49 ms per token, 23.54 tokens per second)"
        )
        draft = "draft acceptance = 1.00000 (    9 accepted /     9 generated), mean len =  4.00"
        more = "draft acceptance = 0.34375 (   22 accepted /    64 generated), mean len = 23.00"
        entry = read(lines(timing(evaluated), timing(draft, task=12), release())).only
        assert (entry.steps, entry.faults) == (2, ())
        entry = read(lines(timing(evaluated), timing(more), release())).only
        assert entry.faults == ("accepted_not_below_generated",)
        assert (entry.steps, entry.reading.rounds) == (2, 1)


class TestOldForm:
    """March 2025 to June 2026: the head on a line of its own."""

    def test_a_request(self) -> None:
        """The lines behind a head belong to its slot."""
        entry = read(lines(*old_form(slot=3, task=0, drafts=OLD_DRAFT))).only
        assert (entry.slot, entry.task) == (3, 0)
        assert (entry.reading.drafted, entry.reading.accepted) == (297, 171)
        assert (entry.prompt_processed, entry.reading.decode_seconds) == (41, 1.6)

    def test_with_statistics_and_clock(self) -> None:
        """Statistics of all slots since the start do not count as a request's."""
        old = old_form(drafts=OLD_DRAFT)
        log = lines(UPTIME + old[0], *old[1:5], STATISTICS.replace("draft-mtp", "mtp"), old[5])
        entry = read(log).only
        assert (entry.reading.drafted, entry.reading.accepted) == (297, 171)
        assert entry.time == "0.12.345.678"

    def test_no_draft_line_tells_nothing_by_itself(self) -> None:
        """Builds before March 2025 never print one; once one was seen, its absence is a 0."""
        before, drafted, after = read(
            lines(*old_form(task=1), *old_form(task=2, drafts=OLD_DRAFT), *old_form(task=3))
        ).entries
        assert before.reading.speculation is Speculation.NOT_REPORTED
        assert drafted.reading.speculation is Speculation.DRAFTED
        assert after.reading.speculation is Speculation.NOT_DRAFTED

    def test_other_lines_between(self) -> None:
        """Other slots' lines between the head and its lines do not take them over."""
        old = old_form(slot=3, task=0, drafts=OLD_DRAFT)
        old[2:2] = ["slot update_slots: id  1 | task 5 | prompt done, n_tokens = 862"]
        entry = read(lines(*old)).only
        assert (entry.slot, entry.reading.generated, entry.reading.drafted) == (3, 129, 297)

    def test_pasted_without_heads(self) -> None:
        """Lines that were copied without a head still make requests."""
        first, second = read(lines(PROMPT, EVAL, OLD_DRAFT, PROMPT, EVAL, OLD_DRAFT)).entries
        assert first.slot is second.slot is None
        assert first.reading.generated == second.reading.generated == 129
        assert first.acceptance == pytest.approx(171 / 297)

    def test_grepped_draft_lines(self) -> None:
        """Each draft line alone is a request, equal ones too: nothing tells that one came twice."""
        assert len(read(lines(OLD_DRAFT, OLD_DRAFT)).entries) == 2

    def test_other_tools_timings(self) -> None:
        """The timings that llama.cpp's library prints at its end are no request's."""
        library = (
            f"llama_perf_context_print: {PROMPT}",
            "llama_perf_context_print:        eval time =    8749.26 ms /   234 runs   ( 37.39 ms",
            f"common_perf_print: {PROMPT}",
            f"common_perf_print: {EVAL}",
        )
        assert read(lines(*library)).entries == []
        assert len(read(lines(*old_form(drafts=OLD_DRAFT), *library)).entries) == 1


class TestTrace:
    """LLAMA_TRACE=1 prints every round."""

    def test_rounds_are_counted(self) -> None:
        """The rounds and the accepted tokens of each position are those of the lines."""
        rounds = [
            f"slot update_slots: id  0 | task 12 | accepted {n:2}/ 3 draft tokens"
            for n in (2, 0, 3, 1)
        ]
        draft = "draft acceptance = 0.50000 (    6 accepted /    12 generated), mean len =  2.50"
        entry = read(lines(*rounds, *new_form(drafts=draft))).only
        assert (entry.reading.rounds, entry.reading.accepted_per_position) == (4, (3, 2, 1))

    def test_a_round_that_is_run_again(self) -> None:
        """A round whose checkpoint is restored is printed a second time, and counts once."""
        head = "slot update_slots: id  0 | task 12 | accepted "
        rounds = [
            f"{head} 2/ 3 draft tokens (restore checkpoint)",
            f"{head} 2/ 2 draft tokens",
            f"{head} 3/ 3 draft tokens",
        ]
        draft = "draft acceptance = 0.83333 (    5 accepted /     6 generated), mean len =  3.50"
        entry = read(lines(*rounds, *new_form(drafts=draft))).only
        assert (entry.reading.rounds, entry.reading.drafted) == (2, 6)

    def test_the_debug_log_prints_them_twice(self) -> None:
        """At -lv 5 every round has a second line, with the number of tokens: it is no round."""
        head = "slot update_slots: id  0 | task 12 | accepted  2/ 3 draft tokens"
        draft = "draft acceptance = 0.66667 (    2 accepted /     3 generated), mean len =  3.00"
        both = lines(head, f"{head}, new n_tokens = 42", *new_form(drafts=draft))
        debug = lines(f"{head}, new n_tokens = 42", *new_form(drafts=draft))
        assert read(both).only.reading.rounds == read(debug).only.reading.rounds == 1

    def test_a_cancelled_request(self) -> None:
        """Its rounds are all there is: acceptance is known, output per step is not."""
        head = "slot update_slots: id  0 | task 12 | accepted  2/ 4 draft tokens"
        log = read(lines(head, head, release()))
        assert log.only.acceptance == 0.5
        assert (log.only.mean_acceptance_length, log.only.output_per_step) == (3.0, None)
        assert log.reader.untimed == 1

    def test_lines_that_disagree_are_not_used(self) -> None:
        """If rounds are missing from the log, they are not taken for all."""
        head = "slot update_slots: id  0 | task 12 | accepted  2/ 3 draft tokens"
        entry = read(lines(head, *new_form())).only
        assert (entry.reading.rounds, entry.reading.accepted_per_position) == (64, None)


class TestSomebodysText:
    """A prompt or an answer may quote a log; a verbose server prints it."""

    @pytest.mark.parametrize(
        "text",
        [
            'srv  log_server_r: request:  {"messages":[{"content":"' + timing(DRAFT) + '"}]}',
            'srv  log_server_r: response: {"content":"' + timing(EVAL) + '"}',
            '{"level": "info", "body": "' + timing(DRAFT) + '"}',
        ],
    )
    def test_is_not_read(self, text: str) -> None:
        """What stands inside of a request's or an answer's JSON is no line of the log."""
        assert read(lines(text)).entries == []


def test_whole_requests_and_single_lines_give_the_same() -> None:
    """A request whose lines stand together reads as one whose lines are apart."""
    for drafts in (DRAFT, None):
        for form in (new_form(drafts=drafts), old_form(drafts=drafts)):
            apart = [text for line in form for text in (line, "srv  something: else")]
            together, single = read(lines(*form)), read(lines(*apart))
            assert together.entries == single.entries
            assert together.counters[1:] == single.counters[1:]


def test_a_wrapped_line_does_not_go_on_with_an_unwrapped_one() -> None:
    """Two containers with the same slot and task: their lines are not put together."""
    first = [f"llama-1  | {text}" for text in new_form()]
    draft = "draft acceptance = 0.50000 (    5 accepted /    10 generated), mean len =  2.00"
    second = [f"llama-2  | {text}" for text in new_form(drafts=draft)]
    mixed = [*first, *second, first[0], *second[:4], *first[1:], *second[4:]]
    entries = read(lines(*mixed), lines(*mixed), lines(*(GRAPHS, TOTAL))).entries
    assert [(entry.source, entry.reading.drafted) for entry in entries] == [
        ("llama-1", 192),
        ("llama-2", 10),
        ("llama-1", 192),
        ("llama-2", 10),
    ] * 2
