"""The parser of responses: never anything but `ProtocolError`, and always the right end."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from specmeter.gateway.http1 import (
    ChunkedBody,
    CloseBody,
    Framing,
    LengthBody,
    ProtocolError,
    body_of,
    end_to_end,
    parse_head,
)
from tests.scripted import chunk, cut_at

PIECES = st.lists(st.binary(max_size=300), max_size=8)
TOKEN = st.text("abcXYZ019-_!#$%&'*+.^`|~", min_size=1, max_size=12).map(str.encode)
VALUE = st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=30).map(
    lambda text: text.encode("latin-1").strip(b" \t")
)


def feed(body: ChunkedBody | LengthBody | CloseBody, pieces: list[bytes]) -> tuple[bytes, int]:
    """Feed pieces until the body ends; return its payload, and how many bytes it took."""
    payload, taken = b"", 0
    for piece in pieces:
        if body.ended:
            break
        if whole := body.whole(piece):
            payload += whole
            taken += len(piece)
            continue
        count, part = body.feed(piece)
        assert 0 <= count <= len(piece)
        payload += part
        taken += count
        if count < len(piece) and not body.ended:
            body.feed(piece[count:])
            raise AssertionError("it stopped before something that is not broken")
    return payload, taken


@given(st.one_of(st.binary(max_size=40), st.binary(min_size=1, max_size=5000).map(chunk)))
@example(b"1\r\na\r\n")
@example(b"01\r\na\r\n")
@example(b"A\r\n0123456789\r\n")
@example(b"a\r\n0123456789\r\n")
@example(b"10\r\n0123456789abcdef\r\n")
@example(b"6\r\n1\r\na\r\n\r\n")
@example(b"0\r\n\r\n")
@example(b"\r\na\r\n")
@example(b"")
def test_a_whole_chunk_is_what_it_is_piece_by_piece(data: bytes) -> None:
    """The short way gives what the long way gives, or nothing; most chunks go the short way."""
    whole = ChunkedBody().whole(data)
    if whole:
        body = ChunkedBody()
        assert body.feed(data) == (len(data), whole)
        assert body.whole(data) == whole  # the next one begins here
    begun = ChunkedBody()
    begun.feed(b"5\r\nhel")
    assert begun.whole(data) == b""


@pytest.mark.parametrize("size", [1, 9, 15, 16, 231, 255, 256, 4095, 4096, 65_535, 65_536])
def test_chunks_go_the_short_way(size: int) -> None:
    """As servers write them, whatever their size."""
    assert ChunkedBody().whole(chunk(b"x" * size)) == b"x" * size


@given(PIECES, st.lists(st.integers(0, 5000), max_size=30), st.binary(max_size=20))
def test_chunks_give_back_what_was_encoded(
    pieces: list[bytes], positions: list[int], behind: bytes
) -> None:
    """However chunks are cut, their payload is what was encoded, and what follows is left."""
    encoded = b"".join(chunk(piece) for piece in pieces if piece) + b"0\r\n\r\n"
    body = ChunkedBody()
    payload, taken = feed(body, cut_at(encoded + behind, positions))
    assert payload == b"".join(pieces)
    assert taken == len(encoded)
    assert body.ended


@given(
    PIECES,
    st.lists(st.integers(0, 5000), max_size=30),
    st.lists(st.tuples(TOKEN, VALUE), max_size=3),
    st.sampled_from([b"", b";a", b";a=b", b' ; a="x;y"', b"\t;\xe4"]),
)
def test_extensions_and_trailers_are_skipped(
    pieces: list[bytes],
    positions: list[int],
    trailers: list[tuple[bytes, bytes]],
    extension: bytes,
) -> None:
    """Extensions and trailers are no payload."""
    encoded = b"".join(
        b"%X%b\r\n%b\r\n" % (len(piece), extension, piece) for piece in pieces if piece
    )
    encoded += b"000" + extension + b"\r\n"
    encoded += b"".join(b"%b: %b\r\n" % trailer for trailer in trailers) + b"\r\n"
    body = ChunkedBody()
    payload, taken = feed(body, cut_at(encoded, positions))
    assert payload == b"".join(pieces)
    assert taken == len(encoded)
    assert body.ended


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=10))
@example(b"5\r\nhelloXX", [8])
@example(b"5\r\nhello\rX", [9])
@example(b"-5\r\n", [])
@example(b"0x5\r\n", [])
@example(b"5 5\r\n", [])
@example(b"\r\n", [])
@example(b"5\n", [])
@example(b"0\r\n\n", [])
@example(b"f" * 17 + b"\r\n", [])
def test_garbage_in_chunks(data: bytes, positions: list[int]) -> None:
    """Bytes that are no chunks are refused as such, and never by another error."""
    with contextlib.suppress(ProtocolError):
        feed(ChunkedBody(), cut_at(data, positions))


@given(PIECES, st.binary(max_size=60), st.lists(st.integers(0, 2000), max_size=20))
@example([b"part"], b"xyz\r\n", [])
@example([b"part"], b"4\r\nmoreXX", [])
@example([b"part"], b"4\r\nmore\rX", [])
@example([], b"4\r\nmoreXX", [8])
def test_what_came_before_a_fault_is_not_lost(
    pieces: list[bytes], behind: bytes, positions: list[int]
) -> None:
    """The same payload is handed on however good chunks and broken bytes are cut."""

    def payload(cut: list[bytes]) -> bytes:
        body, found = ChunkedBody(), b""
        for piece in cut:
            rest = piece
            with contextlib.suppress(ProtocolError):
                while rest and not body.ended:
                    taken, part = body.feed(rest)
                    found += part
                    rest = rest[taken:]
            if rest:
                break
        return found

    data = b"".join(chunk(piece) for piece in pieces if piece) + behind
    found = payload(cut_at(data, positions))
    assert found == payload([data])
    assert found.startswith(b"".join(pieces))


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=10))
@example(b"5\r\nhelloXX", [4])
def test_cut_makes_no_difference(data: bytes, positions: list[int]) -> None:
    """The same bytes are taken or refused however they are cut."""

    def outcome(pieces: list[bytes]) -> tuple[int, bool] | None:
        body = ChunkedBody()
        try:
            _, taken = feed(body, pieces)
        except ProtocolError:
            return None
        return taken, body.ended

    assert outcome([data]) == outcome(cut_at(data, positions))


def test_content_that_looks_like_a_chunk() -> None:
    """A piece in the middle of a chunk is content, whatever it looks like."""
    body = ChunkedBody()
    payload, _ = feed(body, [b"a\r\n", b"5\r\nhello\r\n", b"\r\n0\r\n\r\n"])
    assert payload == b"5\r\nhello\r\n"
    assert body.ended


@given(st.integers(0, 50), st.binary(max_size=100), st.lists(st.integers(0, 100), max_size=10))
def test_length(length: int, data: bytes, positions: list[int]) -> None:
    """A body of a length takes that much and no more."""
    body = LengthBody(length)
    payload, taken = feed(body, cut_at(data, positions))
    assert payload == data[:length]
    assert taken == len(payload)
    assert body.ended == (len(data) >= length)


@given(st.binary(max_size=500), st.booleans())
@example(b"", False)
@example(b"HTTP/1.1 200 OK\r\n", False)
@example(b"HTTP/1.1 200 OK\r\n: x", False)
@example(b"HTTP/1.1 099 OK", False)
@example(b"HTTP/1.1 200\r\nContent-Length: \xb2", False)
@example("HTTP/1.1 200\r\nContent-Length: \u0662".encode(), False)
def test_garbage_as_a_head(block: bytes, to_head_request: bool) -> None:
    """Bytes that are no head are refused as such, and never by another error."""
    with contextlib.suppress(ProtocolError):
        parse_head(block, to_head_request=to_head_request)


@given(
    st.integers(100, 999),
    VALUE,
    st.lists(st.tuples(TOKEN, VALUE), max_size=8),
    st.sampled_from([b"", b" ", b"\t", b"   "]),
)
def test_head(status: int, reason: bytes, fields: list[tuple[bytes, bytes]], blanks: bytes) -> None:
    """Status, reason and headers come out as they went in."""
    lines = [b"%b:%b%b%b" % (name, blanks, value, blanks) for name, value in fields]
    block = b"\r\n".join([b"HTTP/1.1 %d %b" % (status, reason), *lines])
    head = parse_head(block, to_head_request=False)
    assert head.status == status
    assert head.reason == reason
    dropped = {b"te", b"trailer", b"upgrade", b"connection"}
    assert list(head.fields) == [item for item in fields if item[0].lower() not in dropped]
    body_of(head, head.length)


@given(st.lists(st.tuples(TOKEN, VALUE), max_size=4), st.integers(0, 10**17))
def test_lines_of_a_head(fields: list[tuple[bytes, bytes]], length: int) -> None:
    """A head is written as it came, with another length in its place, or without one."""
    clean = [item for item in fields if item[0].lower() not in {b"te", b"trailer", b"upgrade"}]
    for at in range(len(clean) + 1):
        lines = [b"%b: %b" % item for item in clean]
        lines.insert(at, b"Content-Length: 5")
        head = parse_head(b"\r\n".join([b"HTTP/1.1 200 OK", *lines]), to_head_request=False)
        lines[at] = b"Content-Length: %d" % length
        assert head.with_length(length) == b"\r\n".join([b"HTTP/1.1 200 OK", *lines, b""])
        del lines[at]
        assert head.without_length() == b"\r\n".join([b"HTTP/1.1 200 OK", *lines, b""])
        bare = parse_head(b"\r\n".join([b"HTTP/1.1 200 OK", *lines]), to_head_request=False)
        assert bare.with_length(length) == bare.without_length() == head.without_length()


@pytest.mark.parametrize(
    ("values", "is_compressed"),
    [
        *(
            ([value], True)
            for value in (
                *(b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress", b"br", b"zstd"),
                *(b"dcb", b"dcz", b"GZip", b"gzip, br", b"identity,gzip", b"utf-8 , zstd"),
            )
        ),
        ([b"identity", b"br"], True),
        *(
            ([value], False)
            for value in (
                b"none",
                b"utf-8",
                b"identity",
                b"",
                b"gzipped",
                b"none, utf-8",
                b"br otli",
            )
        ),
        ([b"none", b"utf-8"], False),
        ([], False),
    ],
)
def test_what_is_compressed(values: list[bytes], is_compressed: bool) -> None:
    """Codings that exist are, wherever they stand; what is none is taken for no coding."""
    lines = [b"Content-Encoding: %b" % value for value in values]
    head = parse_head(b"\r\n".join([b"HTTP/1.1 200 OK", *lines]), to_head_request=False)
    assert head.is_compressed is is_compressed


CHUNKED = b"Transfer-Encoding: chunked"
LENGTH = b"Content-Length: 5"
CLOSE = b"Connection: close"


@pytest.mark.parametrize(
    ("status", "lines", "to_head", "framing", "keep_alive"),
    [
        (200, [LENGTH], False, Framing.LENGTH, True),
        (200, [LENGTH, CLOSE], False, Framing.LENGTH, False),
        (200, [CHUNKED], False, Framing.CHUNKED, True),
        (200, [CHUNKED, LENGTH], False, Framing.CHUNKED, False),
        (200, [], False, Framing.CLOSE, False),
        (200, [LENGTH], True, Framing.NONE, True),
        (200, [], True, Framing.NONE, True),
        (204, [LENGTH], False, Framing.NONE, True),
        (304, [LENGTH], False, Framing.NONE, True),
        (304, [CLOSE], False, Framing.NONE, False),
    ],
)
def test_framing(
    status: int, lines: list[bytes], to_head: bool, framing: Framing, keep_alive: bool
) -> None:
    """Where a body ends follows RFC 9112, section 6.3."""
    head = parse_head(b"\r\n".join([b"HTTP/1.1 %d X" % status, *lines]), to_head_request=to_head)
    assert head.framing is framing
    assert head.keep_alive is keep_alive


@pytest.mark.parametrize(
    ("line", "keep_alive"),
    [(b"Connection: keep-alive", True), (b"Connection: close", False), (b"X: y", False)],
)
def test_old_version_closes_unless_it_says_otherwise(line: bytes, keep_alive: bool) -> None:
    """HTTP/1.0 keeps a connection only where it says so."""
    block = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n" + line
    assert parse_head(block, to_head_request=False).keep_alive is keep_alive


@given(st.lists(st.tuples(TOKEN, VALUE), max_size=8), st.lists(TOKEN, max_size=4))
def test_end_to_end_drops_what_connection_names(
    fields: list[tuple[bytes, bytes]], named: list[bytes]
) -> None:
    """Nothing that Connection names stays, and nothing else goes."""
    connection = (b"Connection", b" , ".join(named))
    kept = end_to_end([*fields, connection])
    gone = {name.lower() for name in named} | {b"te", b"trailer", b"upgrade", b"connection"}
    assert list(kept) == [item for item in fields if item[0].lower() not in gone]
