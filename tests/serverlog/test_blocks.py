"""Whole lines out of bytes that come in any pieces."""

import codecs

from hypothesis import example, given
from hypothesis import strategies as st

from specmeter.serverlog.blocks import BLOCK, MAX_LINE, Blocks


def cut(*pieces: bytes) -> tuple[bytes, int]:
    """Return all lines that come out, and how many were too long."""
    blocks = Blocks()
    whole = [block for piece in pieces for block in blocks.feed(piece)]
    whole += blocks.close()
    assert all(block.endswith(b"\n") for block in whole)
    return b"".join(whole), blocks.too_long


@given(st.lists(st.binary(max_size=40), max_size=8))
@example([b"\n"])
def test_nothing_is_lost(pieces: list[bytes]) -> None:
    """What goes in comes out, in whole lines, with an end on the last one."""
    text = b"".join(pieces)
    if text.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF8)):
        return
    expected = text if text.endswith(b"\n") or not text else text + b"\n"
    assert cut(*pieces) == (expected, 0)


def test_a_line_that_is_too_long() -> None:
    """It is left out and counted, and the lines around it are not; wherever pieces end."""
    for length, lost in ((MAX_LINE - 1, 0), (MAX_LINE, 1), (5 * MAX_LINE, 1)):
        text = b"before\n" + b"x" * length + b"\nafter\n"
        kept = b"before\nafter\n" if lost else text
        for step in (len(text), BLOCK, 70_001):
            pieces = [text[at : at + step] for at in range(0, len(text), step)]
            assert cut(*pieces) == (kept, lost)


def test_an_endless_line_at_the_end() -> None:
    """A log without any line's end needs no more memory than the longest line."""
    assert cut(*[b"x" * BLOCK] * 20) == (b"", 1)


def test_utf16() -> None:
    """What PowerShell's redirect writes is read as text, also if a piece ends inside a letter."""
    text = "slot print_timing: id  0 | ü€ \n" * 3
    for encoding, mark in (("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE)):
        data = mark + text.encode(encoding)
        for step in (1, 3, len(data)):
            pieces = [data[at : at + step] for at in range(0, len(data), step)]
            assert cut(*pieces)[0].decode() == text


def test_utf8_mark() -> None:
    """A byte order mark is no part of the first line."""
    assert cut(codecs.BOM_UTF8 + b"a\n")[0] == b"a\n"
    assert cut(b"a") == (b"a\n", 0)
    assert cut(b"\n") == (b"\n", 0)
