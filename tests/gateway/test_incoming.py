"""The parser of requests: the same ones however they are cut, and no error but its own."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmeter.gateway.incoming import BadRequestError, Request, RequestParser
from specmeter.gateway.last_head import Known, LastHead
from specmeter.gateway.upload import Upload
from tests.gateway.client import request
from tests.gateway.test_http1 import TOKEN, VALUE
from tests.scripted import CHUNKED, chunked, cut_at


class Nowhere:
    """A connection whose client is not there."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    def write(self, data: bytes) -> None:
        """Write nothing."""

    def pause_reading(self) -> None:
        """Have nobody to wait."""

    def resume_reading(self) -> None:
        """Have nobody to go on."""


Taken = tuple[str, str, list[tuple[bytes, bytes]], int | None, bytes, bool]


def taken(pieces: list[bytes]) -> tuple[list[Taken], bool]:
    """Feed pieces to a parser; return what it made of them, and whether it refused the rest."""
    loop = asyncio.new_event_loop()
    try:
        parser = RequestParser(Nowhere(loop))
        refused = False
        for piece in pieces:
            try:
                parser.feed(piece)
            except BadRequestError:
                refused = True
        return [_shown(*one) for one in parser.requests], refused
    finally:
        loop.close()


def _shown(one: Request, upload: Upload) -> Taken:
    """Return what tells a request from another; the length is that of its body."""
    fields = [item for item in one.fields if item[0] != b"Content-Length"]
    return one.method, one.target, fields, upload.length, upload.begun, upload.complete


FIELDS = st.lists(st.tuples(TOKEN.map(lambda name: b"X-" + name), VALUE), max_size=5)
BODIES = st.one_of(
    st.none(), st.binary(max_size=200), st.lists(st.binary(min_size=1, max_size=50), max_size=4)
)
CUTS = st.lists(st.integers(0, 3000), max_size=12)


def written(
    fields: list[tuple[bytes, bytes]], body: bytes | list[bytes] | None
) -> tuple[bytes, bytes]:
    """Write a request; return it and its body without framing."""
    clean = [
        (name, value) for name, value in fields if all(byte >= 32 and byte != 127 for byte in value)
    ]
    if isinstance(body, list):
        return request("POST", "/x", *clean, CHUNKED) + b"".join(chunked(body)), b"".join(body)
    return request("POST", "/x", *clean, body=body), body or b""


@settings(deadline=None)
@given(st.lists(st.tuples(FIELDS, BODIES), max_size=4), st.integers(1, 3), CUTS)
def test_requests_come_out_as_they_went_in(
    sent: list[tuple[list[tuple[bytes, bytes]], bytes | list[bytes] | None]],
    times: int,
    positions: list[int],
) -> None:
    """However requests are cut, and whether or not their heads are known: what was sent."""
    pairs = [written(fields, body) for fields, body in sent for _ in range(times)]
    whole = b"".join(raw for raw, _ in pairs)
    together, refused = taken([whole])
    assert not refused
    assert [one[4] for one in together] == [body for _, body in pairs]
    assert all(one[5] for one in together)
    assert taken([raw for raw, _ in pairs]) == (together, False)
    assert taken(cut_at(whole, positions)) == (together, False)


@settings(deadline=None)
@given(st.binary(max_size=200), CUTS)
def test_garbage(data: bytes, positions: list[int]) -> None:
    """Bytes that are no request are refused as such, and never by another error."""
    taken(cut_at(data, positions))
    good = request("POST", "/x", body=b"hello")
    assert taken([good, *cut_at(data, positions)])[0][:1] == taken([good])[0]


@settings(deadline=None)
@given(st.binary(max_size=60), st.binary(max_size=60), st.integers(0, 10**17))
def test_a_head_is_known_again_by_its_bytes_alone(before: bytes, after: bytes, length: int) -> None:
    """Whatever is around the length, only the same bytes are taken for the same head."""
    heads: LastHead[str] = LastHead()
    first = b"X%b\r\nContent-Length: 7\r\n%b\r\n\r\n" % (before, after)
    heads.keep(first, "made")
    again = first.replace(b"Content-Length: 7", b"Content-Length: %d" % length, 1)
    known = heads.find(again + b"rest")
    if known is not None:
        assert known == Known("made", length, len(again))
    for at in range(len(first)):
        changed = first[:at] + bytes([first[at] ^ 0x80]) + first[at + 1 :]
        assert heads.find(changed) is None


@pytest.mark.parametrize(
    ("kept", "sent"),
    [
        (b"A\r\n\r\n", b"A\r\n\r\n"),
        (b"A\r\ncontent-length:5\r\n\r\n", b"A\r\ncontent-length:9999\r\n\r\n"),
    ],
)
def test_known_heads(kept: bytes, sent: bytes) -> None:
    """A head with no length is known as a whole, another one by what is around its length."""
    heads: LastHead[str] = LastHead()
    assert heads.find(kept) is None
    heads.keep(kept, "made")
    known = heads.find(sent + b"more")
    assert known is not None
    assert (known.made, known.end) == ("made", len(sent))
    assert heads.find(sent[:-1]) is None


@pytest.mark.parametrize(
    "kept",
    [
        b"A\r\nContent-Length: 5 \r\n\r\n",
        b"A\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        b"A\r\nContent-Length:\r\n\r\n",
        b"A\r\nX: " + b"x" * 10_000 + b"\r\n\r\n",
    ],
)
def test_heads_that_are_not_kept(kept: bytes) -> None:
    """Where the length is not plain to see, or the head is a long one, nothing is remembered."""
    heads: LastHead[str] = LastHead()
    heads.keep(b"B\r\n\r\n", "before")
    heads.keep(kept, "made")
    assert heads.find(kept) is None
    assert heads.find(b"B\r\n\r\n") is None
