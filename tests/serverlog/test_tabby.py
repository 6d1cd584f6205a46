"""TabbyAPI's metrics line."""

import pytest

from specmeter.reading import Speculation
from specmeter.serverlog.entry import RATIO_DISAGREES
from tests.serverlog.logs import lines, read

METRICS = (
    "Metrics (ID: 3fa9): 50 tokens generated in 1.25 seconds (Queue: 0.0 s, Process: 900 cached "
    "tokens and 100 new tokens at 500.0 T/s, Generate: 41.67 T/s, Context: 1000 tokens, "
    "Draft: 40 / 48 tokens accepted (83.33%))"
)
PLAIN = METRICS.replace(", Draft: 40 / 48 tokens accepted (83.33%)", "")


def test_a_request() -> None:
    """Tokens and drafts are read; decode seconds are not, since the time is that of all."""
    entry = read(lines(f"INFO:     {METRICS}")).only
    assert (entry.request, entry.prompt_processed) == ("3fa9", 100)
    assert (entry.reading.generated, entry.reading.drafted, entry.reading.accepted) == (50, 48, 40)
    assert (entry.steps, entry.output_per_step) == (10, 5.0)
    assert entry.tokens_per_second is None


def test_broken_into_lines() -> None:
    """A console breaks the line to fit the screen."""
    broken = METRICS.replace(" (Queue", "\n(Queue").replace(" Context", "\n    Context")
    for log in (broken, f"{broken}\nINFO: something else", f"{broken}\n{METRICS}"):
        assert read(lines(log)).entries[0].reading.drafted == 48


def test_without_a_drafter() -> None:
    """No draft part: whether anything was drafted is not reported."""
    entry = read(lines(PLAIN, METRICS)).entries[0]
    assert entry.reading.speculation is Speculation.NOT_REPORTED
    assert (entry.reading.generated, entry.steps) == (50, None)


def test_colours() -> None:
    """Forks colour the numbers."""
    coloured = METRICS.replace("40 / 48", "\x1b[36m40\x1b[0m / \x1b[36m48\x1b[0m")
    assert read(lines(coloured)).only.reading.accepted == 40


@pytest.mark.parametrize("end", range(len("Metrics (ID:"), len(METRICS) - 1))
def test_cut_off_anywhere(end: int) -> None:
    """However much of the line is left, no number is smaller than it was."""
    log = read(METRICS[:end].encode())
    for entry in log.entries:
        assert entry.reading.generated == 50
        assert entry.reading.drafted in (None, 48)
        assert entry.prompt_processed in (None, 100)


def test_damage() -> None:
    """A ratio that is not that of its counts, and a draft part that cannot be read."""
    entry = read(lines(METRICS.replace("40 / 48", "10 / 48"))).only
    assert entry.faults == (RATIO_DISAGREES,)
    log = read(lines(METRICS.replace("40 / 48", "40")))
    assert (log.only.reading.drafted, log.reader.unreadable) == (None, 1)
