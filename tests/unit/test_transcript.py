"""The copy of a response: bounded, and with the times that matter."""

import itertools

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter import ndjson, sse
from specmeter.transcript import ARRIVALS, HEAD_BYTES, Framing, Transcript, carries_content


def chat(content: str | None, **more: object) -> bytes:
    delta = {"role": "assistant", "content": content, **more}
    return b"data: " + orjson.dumps({"choices": [{"index": 0, "delta": delta}]}) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def streamed(pieces: list[bytes], limit: int = 1 << 20, framing: Framing = sse) -> Transcript:
    """Copy a stream whose piece i came at second i."""
    transcript = Transcript(streamed=True, limit=limit, framing=framing)
    for second, piece in enumerate(pieces):
        transcript.append(piece, float(second))
    return transcript


def test_a_stream_keeps_its_end() -> None:
    """However long it was, the last events are there, from the start of one on."""
    pieces = [chat(f"token {number}") for number in range(1000)]
    transcript = streamed([*pieces, DONE], limit=4096)
    end = transcript.end()
    assert len(end) <= 4096
    assert end.startswith(b"data: ")
    assert end.endswith(pieces[-1] + DONE)
    assert transcript.truncated


def test_memory_is_bounded() -> None:
    """A stream of 50 MB leaves a copy of twice the limit at most."""
    transcript = Transcript(streamed=True, limit=10_000)
    for number in range(5000):
        transcript.append(b"x" * 10_000, float(number))
    assert transcript.total == 50_000_000
    assert len(transcript.tail) <= 20_000
    assert len(transcript.head) <= HEAD_BYTES
    assert len(transcript.first_arrivals) + len(transcript.last_arrivals) <= 2 * ARRIVALS


def test_a_body_is_kept_whole_or_known_to_be_cut() -> None:
    """A document past the limit is not taken for a whole one."""
    body = Transcript(streamed=False, limit=10)
    body.append(b'{"a":', 0.0)
    body.append(b"1}", 0.0)
    assert body.body() == {"a": 1}
    body.append(b" " * 10, 0.0)
    assert body.truncated


def test_first_and_last_content_are_timed() -> None:
    """A role alone, pings and the finish chunk are no content."""
    finish = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    pieces = [b": ping\n\n", chat(None), chat("a"), chat("b"), chat("c"), finish, DONE]
    transcript = streamed(pieces)
    assert transcript.first_content_at() == 2.0
    assert transcript.last_content_at() == 4.0


def test_an_event_in_two_pieces_came_with_the_second() -> None:
    """Content is there once its event is whole."""
    event = chat("a")
    transcript = streamed([event[:20], event[20:], DONE])
    assert transcript.first_content_at() == 1.0


def test_no_content_has_no_time() -> None:
    """Nothing is made up for a stream without content."""
    transcript = streamed([chat(None), DONE])
    assert transcript.first_content_at() is None
    assert transcript.last_content_at() is None


def test_a_forgotten_arrival_is_unknown() -> None:
    """When content was followed by more pieces than are remembered, its time is not guessed."""
    transcript = streamed([chat("a"), *[b": ping\n\n"] * (ARRIVALS + 5)])
    assert transcript.last_content_at() is None


@pytest.mark.parametrize(
    ("event", "content"),
    [
        (b'data: {"choices":[{"delta":{"content":"a"}}]}', True),
        (b'data: {"choices":[{"delta":{"reasoning_content":"a"}}]}', True),
        (b'data: {"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}', True),
        (b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}', False),
        (b'data: {"choices":[{"text":"a"}]}', True),
        (b'data: {"choices":[{"text":""}]}', False),
        (b'data: {"choices":[]}', False),
        (b'data: {"content":"a","stop":false}', True),
        (b'data: {"content":"","stop":true}', False),
        (b'data: {"choices":[{"index":0,"token_ids":[5]}]}', True),  # vLLM's /inference/v1/generate
        (b'data: {"choices":[{"index":0,"token_ids":[]}]}', False),
        (b'data: {"message":{"role":"assistant","content":"a"},"done":false}', True),  # Ollama
        (b'data: {"message":{"role":"assistant","content":"","thinking":"a"}}', True),
        (b'data: {"message":{"role":"assistant","content":""},"done":true}', False),
        (b'data: {"response":"a","done":false}', True),
        (b'data: {"response":"","thinking":"a","done":false}', True),
        (b'data: {"response":"","done":true,"context":[1]}', False),
        (b'data: {"text":"a","meta_info":{}}', True),  # SGLang
        (b'data: {"text":"","meta_info":{}}', False),
        (b'data: {"token":"a"}', True),  # KoboldCpp
        (b'data: {"type":"message.delta","content":"a"}', True),  # LM Studio
        (b'data: {"type":"reasoning.delta","content":"a"}', True),
        (b'data: {"type":"chat.end","result":{}}', False),
        (b'event: x\ndata: {"type":"content_block_delta","delta":{"text":"a"}}', True),
        (b'data: {"type":"message_start","message":{"content":[]}}', False),
        (b'data: {"type":"response.output_text.delta","delta":"a"}', True),
        (b'data: {"type":"response.completed"}', False),
        (b"data: [DONE]", False),
        (b"data: [1]", False),
        (b": ping", False),
        (b'data: {"choices":"x"}', False),
        (b'data: {"choices":["x"]}', False),
    ],
)
def test_which_events_carry_content(event: bytes, content: bool) -> None:
    """Every API's way of bringing text is known."""
    assert carries_content(sse.data(event)) is content


def test_lines_are_timed_too() -> None:
    """Ollama's documents, one a line, have their first and last content."""
    pieces = [b'{"response":""}\n', b'{"response":"a"}\n', b'{"resp', b'onse":"b"}\n']
    transcript = streamed([*pieces, b'{"response":"","done":true}\n'], framing=ndjson)
    assert transcript.first_content_at() == 1.0
    assert transcript.last_content_at() == 3.0


def test_a_stream_of_lines_keeps_its_end() -> None:
    """What is kept begins with a whole line."""
    line = b'{"response":"abc"}\n'
    transcript = streamed([line] * 1000, limit=1000, framing=ndjson)
    assert transcript.end() == line * (1000 // len(line))


@given(
    st.binary(max_size=300),
    st.lists(st.integers(0, 300), max_size=8),
    st.sampled_from((sse, ndjson)),
)
def test_any_bytes_in_any_pieces(stream: bytes, cuts: list[int], framing: Framing) -> None:
    """The end does not depend on how the bytes came, and nothing fails."""
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in itertools.pairwise(bounds)]
    transcript = streamed(pieces, framing=framing)
    assert transcript.end() == stream
    transcript.first_content_at()
    transcript.last_content_at()
