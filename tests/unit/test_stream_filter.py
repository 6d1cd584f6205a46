"""Taking out of a stream what the request's additions put into it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter.backends.injection import CHAT, COMPLETIONS, Habits, Undo
from specmeter.backends.sglang import Sglang
from specmeter.backends.vllm import Vllm
from specmeter.gateway.stream_filter import StreamFilter
from tests import sglang_answers as sglang
from tests.replay import VLLM_STREAM, VLLM_STREAM_ASKED, capture, capture_names

CONTENT = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
FINISH = b'data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}\n\n'
STAMPED = FINISH.replace(b"]}\n\n", b'],"system_fingerprint":"vllm-1"}\n\n')
USAGE = b'data: {"choices":[],"usage":{"x":1},"system_fingerprint":"vllm-1"}\n\n'
DONE = b"data: [DONE]\n\n"


def undo(backend: Any, request: dict[str, Any], endpoint: str = CHAT, **habits: Any) -> Undo:
    """Return what has to be undone after asking for all there is to ask."""
    asked = backend.injection.ask(endpoint, {"stream": True, **request}, Habits(**habits))
    assert asked is not None
    made: Undo = asked.undo
    return made


VLLM = undo(Vllm(), {})
VLLM_RUNNING = undo(Vllm(), {}, running_usage=True)


def filtered(undone: Undo, *pieces: bytes) -> bytes:
    stream_filter = StreamFilter(undone)
    passed = b"".join(stream_filter.feed(piece) for piece in pieces)
    return passed + stream_filter.flush()


class TestVllm:
    """The usage chunk, and the fingerprint that moves to it."""

    def test_the_usage_chunk_is_taken_out_and_the_fingerprint_put_back(self) -> None:
        """The stream is what it would have been without asking."""
        assert filtered(VLLM, CONTENT + FINISH + USAGE + DONE) == CONTENT + STAMPED + DONE

    def test_content_is_not_held(self) -> None:
        """Only the chunk with the finish reason waits for the one behind it."""
        stream_filter = StreamFilter(VLLM)
        assert stream_filter.feed(CONTENT) == CONTENT
        assert stream_filter.feed(FINISH) == b""
        assert stream_filter.feed(USAGE) == STAMPED
        assert stream_filter.feed(DONE) == DONE

    def test_a_ping_between_finish_and_usage_keeps_its_place(self) -> None:
        """Comments pass in order."""
        ping = b": ping\n\n"
        stream = ping + FINISH + ping + USAGE + DONE
        assert filtered(VLLM, stream) == ping + STAMPED + ping + DONE

    @pytest.mark.parametrize(
        "usage",
        [
            b'data: {"choices":[],"usage":{"x":1}}\n\n',
            b'data: {"choices":[],"usage":{"x":1},"system_fingerprint":null}\n\n',
            b'data: {"choices":[],"usage":{"x":1},"system_fingerprint":}\n\n',
        ],
    )
    def test_no_fingerprint_nothing_put_back(self, usage: bytes) -> None:
        """Older servers have none; then only the chunk goes."""
        assert filtered(VLLM, FINISH + usage + DONE) == FINISH + DONE

    def test_usage_on_every_chunk_is_the_servers_own(self) -> None:
        """Where the client would have got usage anyway, it stays."""
        forced = CONTENT.replace(b"]}\n\n", b'],"usage":{"x":1}}\n\n')
        stream = forced + FINISH + USAGE + DONE
        assert filtered(VLLM, stream) == stream

    def test_running_usage_is_taken_out(self) -> None:
        """Of every chunk, in the middle or at the end, with all that is in it."""
        usage = b',"usage":{"prompt_tokens":3,"details":{"x":"}{","y":[1]},"z":"\xc3\xbc"}'
        asked = (CONTENT + STAMPED).replace(b"]", b"]" + usage)
        assert filtered(VLLM_RUNNING, asked + USAGE + DONE) == CONTENT + STAMPED + DONE

    def test_the_usage_chunk_stays_with_a_client_that_asked_for_it(self) -> None:
        """Only the usage of the other chunks goes."""
        own = undo(Vllm(), {"stream_options": {"include_usage": True}}, running_usage=True)
        asked = CONTENT.replace(b"]}", b'],"usage":{"x":1}}')
        assert filtered(own, asked + FINISH + USAGE + DONE) == CONTENT + FINISH + USAGE + DONE

    @pytest.mark.parametrize(
        "event",
        [
            b'data: {"choices":[{"text":"\\",\\"usage\\":{\\"x\\":1}"}]}\n\n',
            b'data: {"choices":[{"text":"a"}],"usage":{"x":\n\n',
            b'data: {"choices":[{"text":"a"}],"usage":{"x":"\xff"}}\n\n',
            b'data: {"usage":{"x":1}}\n\n',
        ],
    )
    def test_what_is_no_usage_stays(self, event: bytes) -> None:
        """The model's text, a broken event, or one that no server of this kind writes."""
        assert filtered(VLLM_RUNNING, event + DONE) == event + DONE


class TestNothingIsLost:
    """Whatever a server does, all of its own bytes arrive."""

    @pytest.mark.parametrize("undone", [VLLM, VLLM_RUNNING, undo(Sglang(), {})])
    def test_a_stream_without_additions_passes_whole(self, undone: Undo) -> None:
        """A server that ignores the wish, an error, a break."""
        error = b'data: {"error":{}}\n\n'
        for stream in (
            *(CONTENT + FINISH + DONE, CONTENT + FINISH + error, CONTENT + FINISH, CONTENT[:10]),
            *(b"", b": ping\n\n", b"\r\n\r\n", b"event: x\r\ndata: 1\r\n\r\n"),
        ):
            assert filtered(undone, stream) == stream

    def test_an_endless_event_passes(self) -> None:
        """What is longer than any event of a server is not collected without end."""
        stream_filter = StreamFilter(VLLM)
        piece = b"x" * (1024 * 1024)
        passed = sum(len(stream_filter.feed(piece)) for _ in range(8))
        assert passed >= 8 * len(piece) - 3  # they may be the beginning of its end
        assert passed + len(stream_filter.flush()) == 8 * len(piece)

    @pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
    def test_behind_an_endless_event(self, end: bytes) -> None:
        """What was added is taken out behind it too, wherever its end is cut."""
        long = b"data: " + b"x" * 5 * 1024 * 1024 + end
        for cut in range(1, len(end) + 2):
            at = len(long) - cut
            pieces = (long[:at], *(bytes([byte]) for byte in long[at:]), USAGE, DONE)
            assert filtered(VLLM, *pieces) == long + DONE

    @given(st.binary(max_size=200), st.sampled_from([VLLM, VLLM_RUNNING, undo(Sglang(), {})]))
    def test_any_bytes(self, stream: bytes, undone: Undo) -> None:
        """What is no event of a server's passes as it is."""
        assert filtered(undone, stream) == stream


STREAMS = [name for name in capture_names() if "stream" in name]


@pytest.mark.parametrize("name", STREAMS)
def test_captured_streams(name: str) -> None:
    """A stream that was not asked for anything is the same with and without the filters."""
    body = capture(name).body
    if name.startswith("vllm") and "usage" in name:
        return  # asked by its client: no filter would be there
    if name.startswith("vllm"):
        for undone in (VLLM, VLLM_RUNNING):
            assert filtered(undone, body) == body
    assert filtered(undo(Sglang(), {}), body) == body


def with_running_usage(stream: bytes) -> bytes:
    """Return the stream as vLLM sends it with usage on every chunk, behind the choices."""
    counts = itertools.count()

    def one(match: re.Match[bytes]) -> bytes:
        count = next(counts)
        usage = {"prompt_tokens": 72, "total_tokens": 72 + count, "completion_tokens": count}
        return match[0] + b',"usage":' + orjson.dumps(usage)

    return re.sub(rb'"token_ids":null}\]|"finish_reason":null}\]', one, stream)


def sglang_cases() -> list[tuple[str, Undo, bytes, bytes]]:
    """Return each way of asking SGLang, its answer, and what it would have been unasked."""
    cases = []
    makers: tuple[tuple[str, str, Callable[..., bytes]], ...] = (
        ("text", COMPLETIONS, sglang.text_stream),
        ("chat", CHAT, sglang.chat_stream),
        ("old chat", CHAT, lambda **asked: sglang.chat_stream(old=True, **asked)),
    )
    for name, endpoint, make in makers:
        first = undo(Sglang(), {}, endpoint)
        cases.append((f"{name}, the first", first, make(drafts=True), make()))
        usual = undo(Sglang(), {}, endpoint, usage_unasked=False)
        cases.append((f"{name}", usual, make(drafts=True, usage=True), make()))
        cases.append((f"{name}, an old server", usual, make(usage=True), make()))
        default = undo(Sglang(), {}, endpoint, usage_unasked=True)
        unasked = make(usage=True)
        cases.append((f"{name}, usage anyway", default, make(drafts=True, usage=True), unasked))
        running = undo(Sglang(), {}, endpoint, usage_unasked=False, running_usage=True)
        full = make(drafts=True, usage=True, every=True)
        cases.append((f"{name}, running usage", running, full, make()))
        own = {"stream_options": {"include_usage": True}}
        asks = undo(Sglang(), own, endpoint, usage_unasked=False, running_usage=True)
        cases.append((f"{name}, asks itself", asks, full, make(usage=True)))
    return cases


CASES = [
    ("vllm", VLLM, VLLM_STREAM_ASKED, VLLM_STREAM),
    ("vllm, running usage", VLLM_RUNNING, with_running_usage(VLLM_STREAM_ASKED), VLLM_STREAM),
    *sglang_cases(),
]


@pytest.mark.parametrize(("undone", "asked", "unasked"), [case[1:] for case in CASES], ids=[
    case[0] for case in CASES
])  # fmt: skip
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_stream_is_what_it_would_have_been(
    undone: Undo, asked: bytes, unasked: bytes, end: bytes
) -> None:
    """Byte for byte, whatever was asked for."""
    assert asked != unasked
    asked, unasked = asked.replace(b"\n", end), unasked.replace(b"\n", end)
    assert filtered(undone, asked) == unasked


@given(st.sampled_from(CASES), st.lists(st.integers(0, 6000), max_size=12))
def test_any_split_gives_the_same_stream(
    case: tuple[str, Undo, bytes, bytes], cuts: list[int]
) -> None:
    """Where the pieces end does not matter."""
    _, undone, asked, unasked = case
    bounds = [0, *sorted(min(cut, len(asked)) for cut in cuts), len(asked)]
    pieces = [asked[a:b] for a, b in itertools.pairwise(bounds)]
    assert filtered(undone, *pieces) == unasked


class TestWatching:
    """Whether a server sends usage unasked is seen on a stream that was not asked for it."""

    @pytest.mark.parametrize("usage", [False, True])
    def test_it_is_told_by_the_end(self, usage: bool) -> None:
        """The usage chunk came, or it did not."""
        stream_filter = StreamFilter(undo(Sglang(), {}))
        assert stream_filter.usage_unasked is None
        stream_filter.feed(sglang.chat_stream(drafts=True, usage=usage))
        assert stream_filter.usage_unasked is usage

    def test_a_stream_that_broke_off_tells_nothing(self) -> None:
        """Its end might have brought usage."""
        stream_filter = StreamFilter(undo(Sglang(), {}))
        stream_filter.feed(CONTENT + b'data: {"error":{}}\n\n' + DONE)
        assert stream_filter.usage_unasked is None
