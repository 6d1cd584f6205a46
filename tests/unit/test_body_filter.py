"""Taking out of a document what the request's additions put at its end."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter.gateway.body_filter import WINDOW_BYTES, BodyFilter
from tests import sglang_answers as sglang

LIMIT = 1 << 20
LONG = "\u00fc{" * 300_000
"""A text whose document is longer than the limit."""


def filtered(*pieces: bytes, limit: int = LIMIT) -> bytes:
    body_filter = BodyFilter(b"sglext", limit)
    passed = b"".join(body_filter.feed(piece) for piece in pieces)
    return passed + body_filter.flush()


@pytest.mark.parametrize("text", ["a", "", ',"sglext":{"x":1}}', "\U0001f600", LONG])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_document_is_what_it_would_have_been(text: str, end: bytes) -> None:
    """Byte for byte, whatever its length."""
    asked, unasked = sglang.document(text, drafts=True) + end, sglang.document(text) + end
    assert asked != unasked
    assert filtered(asked) == unasked
    assert filtered(unasked) == unasked


@given(st.lists(st.integers(0, 1500), max_size=8))
def test_any_split_gives_the_same_document(cuts: list[int]) -> None:
    """Where the pieces end does not matter."""
    asked = sglang.document("\u00fc", drafts=True)
    bounds = [0, *sorted(min(cut, len(asked)) for cut in cuts), len(asked)]
    pieces = [asked[a:b] for a, b in itertools.pairwise(bounds)]
    assert filtered(*pieces) == sglang.document("\u00fc")


def test_a_document_within_the_limit_waits_for_its_end() -> None:
    """Only then its length is known."""
    body_filter = BodyFilter(b"sglext", LIMIT)
    assert body_filter.feed(sglang.document(drafts=True)) == b""


def test_a_long_document_goes_on() -> None:
    """Only its end is held, so that memory is bounded."""
    body_filter = BodyFilter(b"sglext", LIMIT)
    passed = sum(len(body_filter.feed(b"x" * 100_000)) for _ in range(100))
    assert passed == 100 * 100_000 - WINDOW_BYTES


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"a":1,"sglext":{"x":1},"b":2}',
        b'{"a":{"b":1,"sglext":{"x":1}}}',
        b'{"a":1,"sglext":{"x":1}',
        b'{"a":1,"sglext":{"x":1}}}',
        b'{"a":1,"sglext":{"x":',
        b'{"a":1,"sglext":[]}',
        b'{"a":1,"sglext":{"x":"\xff"}}',
        b'{"a":1,"sglext":' + b'{"x":' * 5000 + b"1" + b"}" * 5001,
    ],
)
def test_what_is_no_last_member_stays(body: bytes) -> None:
    """In another place, within another member, broken, cut off, or not of the kind."""
    assert filtered(body) == body


@given(st.binary(max_size=300))
def test_any_bytes_pass(body: bytes) -> None:
    """What is no document of the server's passes as it is."""
    assert filtered(body, limit=100) == body
