"""However a response is cut and framed: the same bytes arrive, the same numbers are counted."""

from __future__ import annotations

import asyncio
import random

import pytest
import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specmeter.backends.injection import Undo
from specmeter.gateway.stream_filter import StreamFilter
from tests.gateway.checks import numbers_counted
from tests.gateway.client import ask
from tests.gateway.expected import EXPECTED
from tests.gateway.proxy import running
from tests.replay import VLLM_STREAM, VLLM_STREAM_ASKED, Capture, capture, model_list
from tests.scripted import (
    CHUNKED,
    Script,
    ScriptedUpstream,
    answer,
    answer_and_close,
    chunked,
    cut_at,
)

ASKED_FOR_USAGE = Undo(usage_chunk=True, fingerprint_moves=True)

FEW = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def reframed(taken: Capture, framing: str, body: list[bytes], cuts: list[int]) -> Script:
    """Answer as the server did, but in another framing and cut anywhere, within the head too."""
    status = taken.head.split(b"\r\n")[0]
    fields = [item for item in taken.fields if item[0].lower() != b"content-length"]
    if framing == "chunked":
        fields.append(CHUNKED)
        framed = b"".join(chunked(body))
    else:
        framed = b"".join(body)
        if framing == "length":
            fields.insert(len(fields) // 2, (b"Content-Length", b"%d" % len(framed)))
    head = b"\r\n".join([status, *(b"%b:%b" % item for item in fields)]) + b"\r\n\r\n"
    pieces = cut_at(head + framed, cuts)
    return answer_and_close(*pieces) if framing == "close" else answer(*pieces)


@FEW
@given(
    st.sampled_from(sorted(EXPECTED)),
    st.sampled_from(["chunked", "length", "close"]),
    st.integers(0, 2**32),
    st.sampled_from(["1.0", "1.1"]),
)
def test_any_cut_of_any_capture(name: str, framing: str, seed: int, version: str) -> None:
    """Body and numbers are the same for every framing, cut and version of the client."""
    dice = random.Random(seed)
    taken = capture(name)

    def cuts(count: int) -> list[int]:
        return [dice.randrange(len(taken.body) * 2) for _ in range(dice.randrange(count))]

    async def run() -> None:
        body = [piece for piece in cut_at(taken.body, cuts(60)) if piece]
        script = reframed(taken, framing, body, cuts(60))
        async with (
            ScriptedUpstream(script=script, models=model_list(name)) as upstream,
            running(upstream.url) as proxy,
        ):
            got = await ask(proxy.url, "POST", taken.target, body=b"{}", version=version)
            metrics = await proxy.metrics()
        assert got.complete
        assert got.body == taken.body
        numbers_counted(metrics, EXPECTED[name])

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


@given(st.lists(st.integers(0, len(VLLM_STREAM_ASKED)), max_size=40))
def test_any_cut_of_a_stream_with_usage(cuts: list[int]) -> None:
    """What was asked for is taken out of the stream wherever it is cut."""
    stream_filter = StreamFilter(ASKED_FOR_USAGE)
    passed = b"".join(stream_filter.feed(piece) for piece in cut_at(VLLM_STREAM_ASKED, cuts))
    assert passed + stream_filter.flush() == VLLM_STREAM


@given(st.lists(st.integers(0, len(VLLM_STREAM)), max_size=40))
def test_any_cut_of_a_stream_without_usage(cuts: list[int]) -> None:
    """A stream in which nothing was asked for passes as it is."""
    stream_filter = StreamFilter(ASKED_FOR_USAGE)
    passed = b"".join(stream_filter.feed(piece) for piece in cut_at(VLLM_STREAM, cuts))
    assert passed + stream_filter.flush() == VLLM_STREAM


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=10))
def test_no_stream_at_all(data: bytes, cuts: list[int]) -> None:
    """Bytes that are no events pass as they are, unless they hold a usage chunk."""
    stream_filter = StreamFilter(ASKED_FOR_USAGE)
    passed = b"".join(stream_filter.feed(piece) for piece in cut_at(data, cuts))
    assert passed + stream_filter.flush() == data


END_OF_USAGE = VLLM_STREAM_ASKED.index(b"\n\ndata: [DONE]")


@pytest.mark.parametrize("end", range(0, END_OF_USAGE, 13))
def test_nothing_is_kept_of_a_stream_that_breaks(end: int) -> None:
    """A stream that breaks off before its usage chunk is passed to its last byte."""
    stream_filter = StreamFilter(ASKED_FOR_USAGE)
    passed = stream_filter.feed(VLLM_STREAM_ASKED[:end]) + stream_filter.flush()
    assert passed == VLLM_STREAM_ASKED[:end]
