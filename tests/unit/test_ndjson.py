"""A document a line: where one ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter import ndjson


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_is_an_event(end: bytes) -> None:
    """The last one needs no line end."""
    events = list(ndjson.events(b'{"a":1}' + end + b'{"b":2}' + end + b"{"))
    assert [ndjson.data(event.raw) for event in events] == [b'{"a":1}', b'{"b":2}', b"{"]


def test_the_end_of_the_first() -> None:
    """Without a line end it has not ended."""
    assert ndjson.end_of_first_event(b'{"a":1}\n{') == 8
    assert ndjson.end_of_first_event(b'{"a":1}\n{}\n', 8) == 11
    assert ndjson.end_of_first_event(b'{"a":1}') == -1


@given(st.binary())
def test_any_bytes_are_covered_once(stream: bytes) -> None:
    """Whatever comes, the events cover it without gap or overlap."""
    events = list(ndjson.events(stream))
    assert b"".join(stream[event.start : event.end] for event in events) == stream
