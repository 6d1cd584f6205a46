"""Is it on? From what the server says and what completions show."""

from pathlib import Path

import pytest

from specmeter.backends.llama_cpp import slots_speculate
from specmeter.reading import Speculation
from specmeter.upstream.drafting import RECENT_COMPLETIONS, Drafting, DraftingWatch

CAPTURES = Path(__file__).parents[1] / "captures" / "llama_cpp"
DRAFTED, NOT_DRAFTED = Speculation.DRAFTED, Speculation.NOT_DRAFTED


@pytest.mark.parametrize(
    ("configured", "seen", "state"),
    [
        (None, [], Drafting.UNKNOWN),
        (None, [NOT_DRAFTED], Drafting.UNKNOWN),
        (None, [DRAFTED, NOT_DRAFTED], Drafting.DRAFTING),
        (True, [], Drafting.CONFIGURED),
        (True, [Speculation.NOT_REPORTED], Drafting.CONFIGURED),
        (True, [NOT_DRAFTED], Drafting.NO_CANDIDATE),
        (False, [NOT_DRAFTED], Drafting.OFF),
        (False, [DRAFTED], Drafting.DRAFTING),
    ],
)
def test_state(configured: bool | None, seen: list[Speculation], state: Drafting) -> None:
    """What completions show counts more than what the server says."""
    watch = DraftingWatch()
    watch.configured = configured
    for speculation in seen:
        watch.saw(speculation)
    assert watch.state is state


def test_drafting_that_stops_is_noticed() -> None:
    """A draft of long ago does not count for ever."""
    watch = DraftingWatch()
    watch.configured = True
    watch.saw(DRAFTED)
    for _ in range(RECENT_COMPLETIONS):
        watch.saw(NOT_DRAFTED)
    assert watch.state is Drafting.NO_CANDIDATE


@pytest.mark.parametrize(
    ("folder", "speculates"), [("plain", False), ("ngram-mod", True), ("draft-simple", True)]
)
def test_slots_of_real_servers(folder: str, speculates: bool) -> None:
    """llama.cpp's `/slots` tells, whatever `/props` says."""
    assert slots_speculate((CAPTURES / folder / "slots.json").read_bytes()) is speculates


@pytest.mark.parametrize(
    "page", [b"", b"{}", b"[]", b"[1]", b'[{"speculative":"yes"}]', b'{"error":{}}']
)
def test_other_pages_tell_nothing(page: bytes) -> None:
    """A page that is off, or no page of slots, leaves it unknown."""
    assert slots_speculate(page) is None
