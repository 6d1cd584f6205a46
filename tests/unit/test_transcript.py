"""The copy of a response: bounded, with what is read later, and with the times that matter."""

import itertools
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter import ndjson, sse
from specmeter.fault import Fault
from specmeter.reader import read
from specmeter.transcript import BodyTranscript, CopiedStream, StreamTranscript
from specmeter.transcript.framing import Framing
from specmeter.unread import Unread
from tests.answers import DONE, copied, event
from tests.examples import EXAMPLES

LIMIT = 1 << 20


def chat(content: str | None, index: int = 0, **more: object) -> bytes:
    delta = {"role": "assistant", "content": content}
    return event({"choices": [{"index": index, "delta": delta}], **more})


def timed(tokens: int, index: int = 0) -> bytes:
    """Return a chunk as llama.cpp sends it with `timings_per_token`."""
    return chat("a", index, object="chat.completion.chunk", timings=timings(tokens))


def timings(tokens: int) -> dict[str, Any]:
    return {"prompt_n": 3, "predicted_n": tokens, "predicted_ms": tokens * 10.0}


def streamed(pieces: list[bytes], limit: int = LIMIT, framing: Framing = sse) -> CopiedStream:
    """Copy a stream whose piece i came at second i."""
    transcript = StreamTranscript(limit, framing)
    for second, piece in enumerate(pieces):
        transcript.append(piece, float(second))
    copy = transcript.copied()
    assert isinstance(copy, CopiedStream)
    return copy


def tokens_of(copy: CopiedStream) -> list[int | None]:
    return [reading.generated for reading in read(copy).readings]


def size_of(thing: object) -> int:
    """Return the bytes of memory that something takes with all that it holds."""
    seen: set[int] = set()

    def parts(one: object) -> Iterator[object]:
        if isinstance(one, type | ModuleType) or id(one) in seen:
            return
        seen.add(id(one))
        yield one
        if isinstance(one, dict):
            held = [*one.keys(), *one.values()]
        elif isinstance(one, str | bytes | bytearray):
            held = []
        elif hasattr(one, "__iter__"):
            held = list(one)
        else:
            held = [getattr(one, name, None) for name in getattr(one, "__slots__", ())]
        for other in held:
            yield from parts(other)

    return sum(map(sys.getsizeof, parts(thing)))


def test_a_long_stream_takes_little_memory() -> None:
    """After 6,000 events, with numbers in each or in none, some 40 kB are kept at the most."""
    for make in (lambda number: chat(f"token {number}"), timed):
        transcript = StreamTranscript(LIMIT)
        most = 0
        for number in range(6_000):
            transcript.append(make(number + 1), float(number))
            if number % 97 == 0:
                most = max(most, size_of(transcript))
        assert 1_000 < most < 40_000


@pytest.mark.parametrize("ends", [False, True], ids=["one event", "events"])
def test_memory_is_bounded(ends: bool) -> None:
    """Whatever a server sends, no more than the limit is kept, and what waits to be looked at."""
    transcript = StreamTranscript(10_000)
    piece = b'data: {"usage":"' + b"x" * 9_000 + b'"}' + b"\n\n" * ends
    for number in range(5000):
        transcript.append(piece, float(number))
        assert number % 500 or size_of(transcript) < 10_000 + 2 * 64 * 1024
    copy = transcript.copied()
    assert isinstance(copy, CopiedStream)
    assert copy.is_incomplete


def test_numbers_at_the_end_of_a_long_stream_are_read() -> None:
    """However long it was, it was looked through whole: nothing is too large in it."""
    usage = event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5}})
    copy = streamed([*[chat("a")] * 5_000, usage, DONE], limit=4096)
    assert tokens_of(copy) == [5]
    assert not copy.is_incomplete
    without = streamed([*[chat("a")] * 5_000, DONE], limit=4096)
    assert read(without).unread == (Unread.NO_NUMBERS,)


def test_numbers_in_every_event_of_a_long_stream_are_read() -> None:
    """The last ones count."""
    assert tokens_of(streamed([timed(n) for n in range(1, 5_000)])) == [4_999]


def test_numbers_at_the_beginning_of_a_long_stream_are_read() -> None:
    """Anthropic's streams tell the prompt's tokens first, and may repeat the others."""
    start = event({"type": "message_start", "message": {"usage": {"input_tokens": 41}}})
    more = [
        event({"type": "message_delta", "delta": {}, "usage": {"output_tokens": tokens}})
        for tokens in range(1, 2_000)
    ]
    (one,) = read(streamed([start, *more])).readings
    assert (one.prompt, one.generated) == (41, 1_999)


def test_each_choice_keeps_its_last_numbers() -> None:
    """Of several that end far from each other, with numbers in every event."""
    pieces = [timed(n, index=1) for n in range(1, 31)]
    pieces += [timed(n, index=0) for n in range(1, 2_000)]
    pieces += [timed(n, index=2) for n in range(1, 200)]
    assert sorted(tokens_of(streamed(pieces)), key=lambda tokens: tokens or 0) == [30, 199, 1_999]


def test_each_usage_chunk_of_a_choice_is_kept() -> None:
    """llama.cpp sends one for each choice, which names none."""
    pieces = [
        event({"object": "chat.completion.chunk", "choices": [], "timings": timings(tokens)})
        for tokens in range(1, 31)
    ]
    assert tokens_of(streamed(pieces)) == list(range(1, 31))


@pytest.mark.parametrize("how", ["bytes", "events", "whole"])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_what_is_looked_through_in_parts_reads_the_same(
    example: Any, line_end: bytes, how: str
) -> None:
    """A stream that was looked through many times gives what it gives as a whole."""
    if example.form == "body":
        return
    raw = example.raw
    if example.form == "events":
        raw = raw.replace(b"\n", line_end)
    elif line_end == b"\r":
        return
    size = {"bytes": 1, "events": 100, "whole": len(raw)}[how]
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    whole, parts = read(copied(example.form, example.raw)), read(copied(example.form, *pieces))
    untimed = [
        [(one.generated, one.prompt, one.drafted, one.accepted, one.rounds) for one in found]
        for found in (whole.readings, parts.readings)
    ]
    assert untimed[0] == untimed[1]
    for what in ("backend", "recognised", "unread", "model", "fingerprint"):
        assert getattr(whole, what) == getattr(parts, what)


def test_a_body_is_kept_whole_or_not_at_all() -> None:
    """A document past the limit is not taken for a whole one."""
    body = BodyTranscript(10)
    for piece, document in ((b'{"a":', b'{"a":'), (b"1", b'{"a":1'), (b"}", b'{"a":1}')):
        body.append(piece, 0.0)
        assert body.copied().document == document
    body.append(b" " * 10, 0.0)
    assert body.copied().document is None
    assert size_of(body) < 200


def test_first_and_last_content_are_timed() -> None:
    """A role alone, pings and the finish chunk are no content."""
    finish = event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    copy = streamed([b": ping\n\n", chat(None), chat("a"), chat("b"), chat("c"), finish, DONE])
    assert (copy.first_content_at, copy.last_content_at) == (2.0, 4.0)


@pytest.mark.parametrize("pings", [0, 5, 64, 300, 2000])
def test_a_long_stream_is_timed(pings: int) -> None:
    """The last content's time is known however many pings followed it."""
    pieces = [chat(None), *[chat("a")] * 1_000, *[b": ping\n\n"] * pings, DONE]
    copy = streamed(pieces)
    assert (copy.first_content_at, copy.last_content_at) == (1.0, 1_000.0)


@pytest.mark.parametrize("texts", [1, 2, 1_000])
@pytest.mark.parametrize("others", [0, 1, 30])
def test_what_follows_the_last_text_changes_no_time(texts: int, others: int) -> None:
    """Finish chunks and the like bring nothing; the model's name is in the last of them."""
    last = event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "model": "m"})
    copy = streamed([chat(None), *[chat("a", model="m")] * texts, *[last] * others, DONE])
    assert (copy.first_content_at, copy.last_content_at) == (1.0, float(texts))
    assert read(copy).model == "m"


def test_an_event_in_two_pieces_came_with_the_second() -> None:
    """Content is there once its event is whole."""
    first, last = chat("a"), chat("b")
    copy = streamed([first[:20], first[20:], *[b": ping\n\n"] * 61, last[:20], last[20:], DONE])
    assert (copy.first_content_at, copy.last_content_at) == (1.0, 64.0)


def test_no_content_has_no_time() -> None:
    """Nothing is made up for a stream without content."""
    copy = streamed([chat(None), DONE])
    assert (copy.first_content_at, copy.last_content_at) == (None, None)


def test_a_time_that_was_not_looked_for_is_unknown() -> None:
    """When many events without content followed the last one with any, it is not guessed."""
    copy = streamed([chat("a"), chat(None) * 100])
    assert (copy.first_content_at, copy.last_content_at) == (0.0, None)


@pytest.mark.parametrize("at", [0, 3, 500])
def test_another_choice_is_seen_anywhere(at: int) -> None:
    """Several outputs have no one clock; an index within a tool's call is no choice's."""
    pieces = [chat("a")] * 1_000
    call = event({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 1}]}}]})
    assert not streamed([*pieces[:at], call, *pieces[at:]]).has_other_choices
    assert streamed([*pieces[:at], chat("b", 1), *pieces[at:]]).has_other_choices


def test_everything_is_kept_on_demand() -> None:
    """As far as the limit goes."""
    pieces = [chat(str(number)) for number in range(200)]
    whole = copied("events", *pieces)
    assert isinstance(whole, CopiedStream)
    assert whole.everything == tuple(sse.data(piece.strip()) for piece in pieces)
    cut = copied("events", *pieces, limit=1024)
    assert isinstance(cut, CopiedStream)
    assert cut.everything is None
    assert streamed(pieces).everything is None


def test_lines_are_timed_too() -> None:
    """Ollama's documents, one a line, have their first and last content."""
    pieces = [b'{"response":""}\n', b'{"response":"a"}\n', b'{"resp', b'onse":"b"}\n']
    copy = streamed([*pieces, b'{"response":"","done":true}\n'], framing=ndjson)
    assert (copy.first_content_at, copy.last_content_at) == (1.0, 3.0)


@pytest.mark.parametrize("between", [0, 70, 3000])
def test_what_follows_an_event_that_is_too_large(between: int) -> None:
    """It is left out as a whole, and what follows is read."""
    long = b'data: {"usage":"' + b"x" * 5_000 + b'"}\n\n'
    usage = event({"choices": [], "usage": {"completion_tokens": 5}})
    stream = long + chat("a") * between + usage
    for size in (1, 7, 1000, len(stream)):
        copy = streamed([stream[at : at + size] for at in range(0, len(stream), size)], limit=2_000)
        assert copy.is_incomplete
        assert tokens_of(copy) == [5]


events = st.lists(
    st.sampled_from(
        [
            *(chat(None), chat("a"), chat("b", 1), timed(7), timed(9, 1), DONE, b": ping\n\n"),
            *(b"\n", b"\r\n", b"\r", b"data: {", b'data: {"usage":5}\r\n\r\n', b"{}\n"),
        ]
    ),
    max_size=40,
).map(b"".join)


@given(
    events, st.lists(st.integers(1, 500), min_size=1, max_size=8), st.sampled_from((sse, ndjson))
)
def test_any_events_in_any_pieces(stream: bytes, sizes: list[int], framing: Framing) -> None:
    """What is kept does not depend on how the bytes came."""
    pieces, at = [], 0
    for size in itertools.cycle(sizes):
        if at >= len(stream):
            break
        pieces.append(stream[at : at + size])
        at += size
    whole, parts = streamed([stream], framing=framing), streamed(pieces, framing=framing)
    assert whole.numbers == parts.numbers
    assert whole.last == parts.last
    assert whole.has_other_choices == parts.has_other_choices
    assert (whole.first_content_at is None) == (parts.first_content_at is None)


@given(st.binary(max_size=300), st.sampled_from((sse, ndjson)))
def test_any_bytes(stream: bytes, framing: Framing) -> None:
    """Nothing fails, whatever comes in whatever pieces."""
    for size in (1, 3, 50):
        streamed([stream[at : at + size] for at in range(0, len(stream), size)], framing=framing)


@given(st.lists(st.sampled_from([b"a", b"{", b"\n", b"\n\n", b"\r\n", b"\r"])).map(b"".join))
def test_backwards_are_the_same_events(stream: bytes) -> None:
    """From the last one to the first."""
    for framing in (sse, ndjson):
        forwards = [framing.data(one.raw).strip() for one in framing.events(stream)]
        backwards = [framing.data(one.raw).strip() for one in framing.events_backwards(stream)]
        assert [one for one in backwards[::-1] if one] == [one for one in forwards if one]


SECRET = "a piece of what was read"


class BrokenFraming:
    """A framing with a fault, as any code may have one."""

    END = b"\n\n"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ZeroDivisionError(SECRET)


def test_a_fault_does_not_stop_the_stream() -> None:
    """It is told at the end, without what was read; nothing is kept meanwhile."""
    transcript = StreamTranscript(LIMIT, BrokenFraming())
    for number in range(2_000):
        transcript.append(chat("a"), float(number))
    assert size_of(transcript) < 64 * 1024
    fault = transcript.copied()
    assert isinstance(fault, Fault)
    assert fault.kind == "ZeroDivisionError"
    assert "_take_ended" in fault.where
    assert SECRET not in str(fault)
    assert transcript.copied() is fault


def test_a_fault_at_the_end_is_told_too() -> None:
    """Also of a stream that is looked through only once."""
    transcript = StreamTranscript(LIMIT, BrokenFraming())
    transcript.append(chat("a"), 0.0)
    assert isinstance(transcript.copied(), Fault)
