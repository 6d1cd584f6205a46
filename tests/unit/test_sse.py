"""Server-sent events: where one ends, and what is in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter import sse


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_end_with_cr_lf_or_both(end: bytes) -> None:
    """All three line ends of the standard are known."""
    stream = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"", b""])
    assert [sse.data(event.raw) for event in sse.events(stream)] == [b"1", b"2"]


def test_events_say_where_they_stand() -> None:
    """Start and end cover the stream without gap or overlap."""
    stream = b"data: 1\n\n: ping\r\n\r\ndata: 2"
    events = list(sse.events(stream))
    assert [(event.start, event.end) for event in events] == [(0, 9), (9, 19), (19, 26)]
    assert b"".join(stream[event.start : event.end] for event in events) == stream


@pytest.mark.parametrize(
    ("event", "data"),
    [
        (b"data: {}", b"{}"),
        (b"data:{}", b"{}"),
        (b"data:  {}", b" {}"),
        (b"data: [1,\ndata: 2]", b"[1,\n2]"),
        (b"event: x\ndata: 1\nid: 3", b"1"),
        (b": comment", b""),
        (b"data", b""),
        (b"\xef\xbb\xbfdata: 1", b"1"),
        ("data: \u2028\u0085".encode(), "\u2028\u0085".encode()),
    ],
)
def test_data_of_an_event(event: bytes, data: bytes) -> None:
    """Lines join, one space goes, comments and other fields do not count."""
    assert sse.data(event) == data


def test_a_cr_at_the_end_may_go_on_with_lf() -> None:
    """An event is not over while its blank line may still be growing."""
    assert sse.end_of_first_event(b"data: 1\r\n\r") == -1
    assert sse.end_of_first_event(b"data: 1\r\n\r\n") == 11
    assert sse.end_of_first_event(b"data: 1\r\n") == -1
    assert sse.end_of_first_event(b"data: 1\n\ndata: 2\n\n", 9) == 18


@given(st.lists(st.sampled_from([b"data: 1", b"\n", b"\r", b"\r\n", b": x", b"\xc3", b"a:b"])))
def test_any_bytes_are_covered_once(pieces: list[bytes]) -> None:
    """Whatever comes, the events cover it without gap or overlap."""
    stream = b"".join(pieces)
    assert b"".join(stream[e.start : e.end] for e in sse.events(stream)) == stream


@given(st.lists(st.sampled_from([b"data: x", b"\n", b"\n\n", b"\r\n", b"\r", b": y"]), max_size=20))
def test_raw_events_are_those_of_the_events(pieces: list[bytes]) -> None:
    """The cheaper way gives the same events."""
    for stream in (b"".join(pieces), b"".join(pieces).replace(b"\r", b"")):
        assert list(sse.raw_events(stream)) == [one.raw for one in sse.events(stream)]
