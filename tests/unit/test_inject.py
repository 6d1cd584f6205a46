"""The request that goes out: the client's bytes, and members behind them."""

from typing import Any

import orjson
import pytest

from specmeter.backends import by_name
from specmeter.backends.injection import CHAT, Habits
from specmeter.gateway.inject import Injected, inject

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
    """Only two have a switch."""
    kinds = ("llama_cpp", "ollama", "openai", "trtllm", "mlx_vlm", "lm_studio")
    for kind in kinds:
        backend = by_name(kind)
        assert backend is not None
        assert backend.injection is None
