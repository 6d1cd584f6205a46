"""The request that goes out: the client's bytes, and members behind them."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from specmeter.backends import by_name
from specmeter.backends.injection import CHAT, Habits, Undo
from specmeter.gateway.inject import Injected, inject
from specmeter.gateway.stream_filter import StreamFilter

CAPTURES = Path(__file__).parents[1] / "captures"

PLAIN = Habits(usage_unasked=False)


def injected(kind: str, body: bytes, habits: Habits = PLAIN) -> Injected | None:
    backend = by_name(kind)
    assert backend is not None
    assert backend.injection is not None
    return inject(body, backend.injection, CHAT, habits)


def members(kind: str, body: bytes) -> Any:
    """Return the request as a server reads it."""
    out = injected(kind, body)
    assert out is not None
    return orjson.loads(out.body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"stream":true,"a":1e40,"n":1,"b":12345678901234567890123,"b":"\\u00e9" } \n',
        b' \r\n{ "stream" : true } \n\n',
        b'{"prompt":"}}{","stream":true}',
        '{"stream":true,"prompt":"\u00fc\u2028"}'.encode(),
    ],
)
@pytest.mark.parametrize("kind", ["vllm", "sglang"])
def test_all_the_clients_bytes_stay(kind: str, body: bytes) -> None:
    """Also those that no JSON library keeps."""
    out = injected(kind, body)
    assert out is not None
    end = body.rindex(b"}")
    assert out.body.startswith(body[:end])
    assert out.body.endswith(body[end:])
    assert orjson.loads(out.body)["stream_options"] == {"include_usage": True}


def test_sglang_is_asked_for_both() -> None:
    """One addition holds several members."""
    request = members("sglang", b'{"stream":true}')
    assert request["return_spec_tokens_details"] is True
    assert request["stream_options"] == {"include_usage": True}


def test_a_later_member_overrides_an_earlier_one() -> None:
    """That is how the options are replaced."""
    request = members("vllm", b'{"stream":true,"stream_options":{"x":5,"include_usage":false}}')
    assert request["stream_options"] == {"x": 5, "include_usage": True}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"{}", b"[]", b'[{"stream":true}]', b'"stream"', b"5", b"null", b"\xff"]
)
@pytest.mark.parametrize("kind", ["vllm", "sglang"])
def test_what_is_not_understood_goes_out_as_it_is(kind: str, body: bytes) -> None:
    """No JSON, or no object with members."""
    assert injected(kind, body) is None


def test_what_needs_no_addition_goes_out_as_it_is() -> None:
    """A document of vLLM has its numbers anyway, and who asks SGLang itself gets them."""
    assert injected("vllm", b'{"stream":false}') is None
    assert injected("sglang", b'{"return_spec_tokens_details":true}') is None


def test_most_kinds_report_unasked() -> None:
    """Only three have a switch; whose timings come unasked must not lose them."""
    kinds = ("ik_llama", "tabby", "ollama", "openai", "trtllm", "mlx_vlm", "lm_studio")
    for kind in kinds:
        backend = by_name(kind)
        assert backend is not None
        assert backend.injection is None


class TestCancelledStreams:
    """llama.cpp is asked for timings on every chunk, and the client does not see them."""

    CAPTURE = CAPTURES / "llama_cpp" / "ngram-mod" / "chat_stream_timings_per_token.body"
    WANTED = Habits(meter_cancelled=True)

    def ask(self, body: bytes, habits: Habits = WANTED) -> Injected | None:
        backend = by_name("llama_cpp")
        assert backend is not None
        assert backend.injection is not None
        return inject(body, backend.injection, "/v1/chat/completions", habits)

    def test_asks_where_it_is_wanted(self) -> None:
        """Only of streams, and only where the client does not ask itself."""
        asked = self.ask(b'{"stream":true}')
        assert asked is not None
        assert asked.body == b'{"stream":true,"timings_per_token":true}'
        assert self.ask(b'{"stream":true}', Habits()) is None
        assert self.ask(b'{"stream":false}') is None
        assert self.ask(b'{"stream":true,"timings_per_token":true}') is None

    @pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
    def test_a_real_stream_is_as_if_nothing_was_asked(self, size: int) -> None:
        """All timings go but those of the last chunk, which are there unasked."""
        stream = self.CAPTURE.read_bytes()
        events = stream.split(b"\n\n")
        plain = [
            event if b'"finish_reason":"' in event else re.sub(rb',"timings":\{[^}]*\}', b"", event)
            for event in events
        ]
        assert sum(event != other for event, other in zip(events, plain, strict=True)) > 40
        undo = StreamFilter(Undo(running_timings=True))
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        got = b"".join(undo.feed(piece) for piece in pieces) + undo.flush()
        assert got == b"\n\n".join(plain)

    @pytest.mark.parametrize(
        "event",
        [
            b'data: {"choices":[],"usage":{"x":1},"timings":{"predicted_n":5}}\n\n',
            b'data: {"type":"response.completed","response":{},"timings":{"predicted_n":5}}\n\n',
        ],
    )
    def test_the_last_chunk_of_each_api_keeps_its_timings(self, event: bytes) -> None:
        """They come unasked."""
        undo = StreamFilter(Undo(running_timings=True))
        assert undo.feed(event) + undo.flush() == event

    def test_text_that_looks_like_timings_stays(self) -> None:
        """What a model writes is no member."""
        text = orjson.dumps({"choices": [{"delta": {"content": ',"timings":{"a":1}'}}]})
        event = b"data: " + text + b"\n\n"
        undo = StreamFilter(Undo(running_timings=True))
        assert undo.feed(event) + undo.flush() == event
