"""Which pieces of a stream bring text and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter import sse
from specmeter.transcript.content import brings_text
from specmeter.transcript.findings import MAY_BE_MORE
from specmeter.transcript.plain_pieces import PlainPieces


def chat(text: str, more: str = "") -> bytes:
    """Return a chunk as llama.cpp sends it."""
    return f'data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]{more}}}\n\n'.encode()


PLAIN = (chat("a"), chat(" the"), chat('say \\"hi\\"'), chat("a") + chat("b"), chat("x" * 900))
OTHERS = (
    *(b"", b"\n\n", b": ping\n\n", b"data: [DONE]\n\n", chat(""), chat("x" * 2000)),
    chat("a")[:-1],  # its end is still to come
    chat("a", ',"timings":{"predicted_n":5}'),
    chat("a", ',"usage":{"completion_tokens":5}'),
    chat("a").replace(b'"index":0', b'"index":1'),
    chat("a").replace(b'"index"', b'"type":"x.end","index"'),
    chat("a") + b'data: {"choices":[],"usage":{"completion_tokens":5}}\n\n',
    chat("a") + b"data: {",
)


@pytest.mark.parametrize("before", [None, *PLAIN], ids=str)
def test_what_came_before_changes_nothing(before: bytes | None) -> None:
    """A piece is plain or not, whether or not it is like the last one."""
    pieces = PlainPieces(sse.END)
    if before is not None:
        assert pieces.include(before)
    for one in (*OTHERS, *PLAIN, *OTHERS):
        assert pieces.include(one) is (one in PLAIN), one


@given(st.lists(st.sampled_from([*PLAIN, *OTHERS, *(one[3:] for one in PLAIN)])))
def test_in_any_order(pieces: list[bytes]) -> None:
    """What was known of another piece is never taken for this one."""
    plain = PlainPieces(sse.END)
    for one in pieces:
        is_plain = brings_text(one) and not MAY_BE_MORE.search(one)
        assert plain.include(one) is (is_plain and one.endswith(sse.END) and len(one) < 1024)
