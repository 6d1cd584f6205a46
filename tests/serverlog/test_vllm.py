"""vLLM's windows, in every order of keys, and V0's counters."""

import pytest

from specmeter.serverlog.entry import MEAN_LENGTH_DISAGREES, RATIO_DISAGREES
from tests.serverlog.logs import capture, lines, read

PREFIX = "(APIServer pid=1) INFO 05-30 07:49:21 [metrics.py:101] "
WINDOW = (
    "SpecDecoding metrics: Mean acceptance length: 3.07, Accepted throughput: 1.05 tokens/s, "
    "Drafted throughput: 1.51 tokens/s, Accepted: 141 tokens, Drafted: 204 tokens, "
    "Per-position acceptance rate: 0.897, 0.676, 0.500, Avg Draft acceptance rate: 69.1%"
)
OLDER = (
    "SpecDecoding metrics: Draft acceptance rate: 69.1%, Mean acceptance length: 3.07, "
    "Accepted throughput: 1.05 tokens/s, Drafted throughput: 1.51 tokens/s, "
    "Accepted: 141 tokens, Drafted: 204 tokens, "
    "Per-position acceptance rate: 0.897, 0.676, 0.500"
)
NEWEST = WINDOW.replace("Accepted through", "Current speculative depth: 3, Accepted through")
RATIOS = (
    "SpecDecoding metrics: Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, "
    "Accepted throughput: 100.00 tokens/s, Per-position acceptance rate: 0.950, 0.900"
)
FIRST = (
    "SpecDecoding metrics: Draft acceptance rate: 69.1%, Accepted: 141 tokens, Drafted: 204 tokens"
)
V0 = (
    "INFO 10-16 19:05:47 metrics.py:367] Speculative metrics: Draft acceptance rate: {rate}, "
    "System efficiency: 0.598, Number of speculative tokens: 3, Number of accepted tokens: "
    "{accepted}, Number of draft tokens: {drafted}, Number of emitted tokens: {emitted}."
)


@pytest.mark.parametrize("text", [WINDOW, OLDER, NEWEST])
def test_any_order_of_keys(text: str) -> None:
    """The rounds follow from the counts and ratios, whatever order the version prints them in."""
    entry = read(lines(PREFIX + text)).only
    assert (entry.reading.drafted, entry.reading.accepted) == (204, 141)
    assert entry.reading.rounds == 68
    assert entry.reading.accepted_per_position == (61, 46, 34)
    assert entry.mean_acceptance_length == pytest.approx(1 + 141 / 68)
    assert entry.time == "05-30 07:49:21"
    assert entry.is_window


def test_tokens_are_unknown() -> None:
    """Steps without a draft are not counted, so neither tokens nor output per step are known."""
    entry = read(lines(PREFIX + WINDOW)).only
    assert entry.reading.generated is entry.steps is None
    assert entry.output_per_step is entry.average_draft is None


def test_the_first_form_has_no_mean() -> None:
    """The first V1 versions printed acceptance only."""
    entry = read(lines(FIRST)).only
    assert entry.acceptance == pytest.approx(141 / 204)
    assert entry.rounds is None
    assert entry.mean_acceptance_length is None


def test_ratios_without_counts() -> None:
    """A line without counts gives its ratios as they are printed."""
    entry = read(lines(RATIOS)).only
    assert entry.acceptance == pytest.approx(0.888)
    assert entry.mean_acceptance_length == 5.44
    assert entry.reading.drafted is None


def test_nothing_accepted() -> None:
    """Without any accepted token the mean is 1 for any number of rounds: they stay open."""
    text = (
        "SpecDecoding metrics: Mean acceptance length: 1.00, Accepted: 0 tokens, Drafted: 670 "
        "tokens, Per-position acceptance rate: 0.000, 0.000, Avg Draft acceptance rate: 0.0%"
    )
    entry = read(lines(text)).only
    assert (entry.acceptance, entry.mean_acceptance_length) == (0.0, 1.0)
    assert entry.rounds is not None
    assert (entry.rounds.low, entry.rounds.high) == (335, 670)


def test_no_draft_in_a_window() -> None:
    """`nan` for an acceptance of nothing is no fault."""
    text = FIRST.replace("69.1%", "nan%").replace("141", "0").replace("204", "0")
    entry = read(lines(text)).only
    assert (entry.reading.drafted, entry.acceptance, entry.faults) == (0, None, ())


def test_diffusion_models_do_not_speculate() -> None:
    """The metrics of diffusion models look alike and are left alone."""
    text = WINDOW.replace("SpecDecoding", "DiffusionDecoding")
    assert read(lines(PREFIX + text)).entries == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("Accepted: 141", "Accepted: 241", "accepted_exceeds_drafted"),
        ("Accepted: 141", "Accepted: -1", "negative"),
        ("Drafted: 204 tokens", "Drafted: 20", "half_reported"),
        ("Drafted: 204", "Drafted: 209", RATIO_DISAGREES),
        ("length: 3.07", "length: 3.70", MEAN_LENGTH_DISAGREES),
        ("length: 3.07", "length: 0.07", MEAN_LENGTH_DISAGREES),
        ("0.897, 0.676", "0.397, 0.676", MEAN_LENGTH_DISAGREES),
    ],
)
def test_numbers_that_do_not_fit(old: str, new: str, fault: str) -> None:
    """Damage to one number of a line shows in the others."""
    assert fault in read(lines(PREFIX + WINDOW.replace(old, new))).only.faults


def test_a_cut_off_line() -> None:
    """A line that ends within its counts is not taken for a smaller count."""
    for end in range(len("SpecDecoding metrics: "), WINDOW.index(", Per-position")):
        log = read(WINDOW[:end].encode())
        for entry in log.entries:
            assert entry.reading.drafted in (None, 204)
        assert log.entries or log.reader.unreadable == 1


class TestV0:
    """The counters of vLLM before V1."""

    def test_a_window_is_a_difference(self) -> None:
        """The first line counts since the start, the second what came between."""
        first, second = read(
            lines(
                V0.format(rate=0.55, accepted=44, drafted=80, emitted=48),
                V0.format(rate=0.55, accepted=44, drafted=80, emitted=48),
                V0.format(rate=0.491, accepted=54, drafted=110, emitted=73),
            ).replace(b"speculative tokens: 3", b"speculative tokens: 5")
        ).entries
        assert (first.reading.drafted, first.reading.accepted) == (80, 44)
        assert (second.reading.drafted, second.reading.accepted) == (30, 10)
        assert second.time == "10-16 19:05:47"

    def test_a_restart(self) -> None:
        """Counters that went down belong to a server that was started again."""
        first, second = read(
            lines(
                V0.format(rate=0.642, accepted=8547, drafted=13311, emitted=10616),
                V0.format(rate=0.333, accepted=1, drafted=3, emitted=2),
            )
        ).entries
        assert first.reading.rounds is None
        assert first.rounds is not None
        assert (second.reading.drafted, second.reading.accepted) == (3, 1)

    def test_rounds_bring_back_what_they_emit(self) -> None:
        """Its accepted tokens lie behind wrong ones too, so the mean length is of emitted ones."""
        entry = read(lines(V0.format(rate=0.642, accepted=8547, drafted=13311, emitted=10616))).only
        assert entry.rounds is not None
        assert entry.rounds.exact == 4437
        assert entry.mean_acceptance_length == pytest.approx(10616 / 4437)
        assert entry.acceptance == pytest.approx(8547 / 13311)

    @pytest.mark.parametrize("emitted", ["9" * 30, "0", "3"])
    def test_impossible_emitted_tokens(self, emitted: str) -> None:
        """Fewer than a token a round, or more than there are: the rounds are left out."""
        entry = read(lines(V0.format(rate=0.543, accepted=44, drafted=81, emitted=emitted))).only
        assert (entry.rounds, entry.emitted) == (None, None)

    def test_a_damaged_counter(self) -> None:
        """A counter that does not fit the printed rate does not spoil the windows after it."""
        first, last = (
            V0.format(rate=0.55, accepted=44, drafted=80, emitted=48),
            V0.format(rate=0.5, accepted=55, drafted=110, emitted=73),
        )
        log = read(lines(first, last.replace("tokens: 110", "tokens: 910"), last))
        assert [entry.reading.drafted for entry in log.entries] == [80, 30]
        assert log.reader.unreadable == 1

    def test_a_cut_off_line(self) -> None:
        """Without its full stop the last number may be cut off."""
        text = V0.format(rate=0.642, accepted=8547, drafted=13311, emitted=10616)
        log = read(lines(text[:-3]))
        assert (log.entries, log.reader.unreadable) == ([], 1)


def test_the_capture() -> None:
    """The windows of a real server add up to its own counters."""
    entries = read(capture("vllm")).entries
    assert sum(entry.reading.drafted or 0 for entry in entries) == 254
    assert sum(entry.reading.accepted or 0 for entry in entries) == 179
    assert sum(entry.reading.rounds or 0 for entry in entries) == 65
    positions = [entry.reading.accepted_per_position or () for entry in entries]
    assert [sum(counts) for counts in zip(*positions, strict=True)] == [51, 47, 43, 38]
