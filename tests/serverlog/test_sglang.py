"""SGLang's intervals."""

import pytest

from tests.serverlog.logs import lines, read

DECODE = (
    "Decode batch, #running-req: 4, #full token: 214912, full token usage: 0.49, accept len: 2.70, "
    "accept rate: 0.57, cuda graph: True, gen throughput (token/s): 123.73, #queue-req: 0"
)
OLDER = "Decode batch. #running-req: 1, #token: 100, accept len: 2.10, gen throughput: 8.4"
PLAIN = "Decode batch, #running-req: 2, #token: 84, gen throughput (token/s): 3.62, #queue-req: 1"


def test_ratios() -> None:
    """An interval gives its two ratios; there are no counts."""
    entry = read(lines(f"[2026-09-27 09:19:23 TP0] {DECODE}")).only
    assert (entry.acceptance, entry.mean_acceptance_length) == (0.57, 2.70)
    assert entry.reading.drafted is entry.steps is entry.output_per_step is None
    assert (entry.source, entry.time) == ("TP0", "2026-09-27 09:19:23")
    assert entry.is_window


def test_the_older_form_has_no_rate() -> None:
    """Before the rate came there was the length only."""
    entry = read(lines(OLDER)).only
    assert (entry.acceptance, entry.mean_acceptance_length) == (None, 2.10)


@pytest.mark.parametrize(
    ("prefix", "source", "time"),
    [
        ("[2026-09-27 09:19:23 DP1 TP0] ", "DP1 TP0", "2026-09-27 09:19:23"),
        ("[2026-09-27 09:19:23] ", None, "2026-09-27 09:19:23"),
        ("TP0] ", "TP0", None),
        ("", None, None),
    ],
)
def test_ranks(prefix: str, source: str | None, time: str | None) -> None:
    """Each rank is a source of its own."""
    entry = read(lines(prefix + DECODE)).only
    assert (entry.source, entry.time) == (source, time)


def test_without_speculation() -> None:
    """An interval without the length says that nothing is drafted: no record."""
    assert read(lines(PLAIN)).entries == []


@pytest.mark.parametrize("length", ["nan", "-2.70", "2.x", "", "null"])
def test_damage(length: str) -> None:
    """A length that is none is counted."""
    log = read(lines(DECODE.replace("2.70", length)))
    assert (log.entries, log.reader.unreadable) == ([], 1)


def test_a_cut_off_line() -> None:
    """A length that nothing follows may be cut off."""
    log = read(DECODE[: DECODE.index("70, accept rate")].encode())
    assert (log.entries, log.reader.unreadable) == ([], 1)
