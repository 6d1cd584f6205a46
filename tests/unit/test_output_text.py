"""The generated text is taken from every API's answers, streamed or not."""

import pytest

from specmeter.output_text import output_text
from tests.answers import copied
from tests.replay import CAPTURES

LLAMA_CPP = CAPTURES / "llama_cpp"
GREETING = "I'm glad you're here! I'm here to help w"


def text_of(body: bytes, *, limit: int = 1 << 20) -> str | None:
    streamed = body.startswith((b"data:", b"event:"))
    return output_text(copied("events" if streamed else "body", body, limit=limit))


def captured(name: str) -> str | None:
    return text_of((LLAMA_CPP / f"{name}.body").read_bytes())


@pytest.mark.parametrize("drafter", ["ngram-mod", "draft-simple"])
@pytest.mark.parametrize(
    ("name", "characters", "begins"),
    [
        ("chat", 282, "def f(a):\n    return a+1\n\ndef f(a):\n    "),
        ("chat_short", 1, "I"),
        ("chat_stream", 208, "def f(a):\n    return a+1\n\ndef f(a):\n    "),
        ("chat_stop_word", 22, "def f(a):\n    return a"),
        ("completions", 279, " two three one two three one two three t"),
        ("completions_stream", 135, " two three one two three one two three t"),
        ("messages", 102, GREETING),
        ("messages_stream", 102, GREETING),
        ("responses", 102, GREETING),
        ("responses_stream", 102, GREETING),
        ("native", 279, " two three one two three one two three t"),
        ("native_stream", 135, " two three one two three one two three t"),
    ],
)
def test_captured_texts(drafter: str, name: str, characters: int, begins: str) -> None:
    """What real servers generated greedily is the same with and without a drafter."""
    text = captured(f"{drafter}/{name}")
    assert text is not None
    assert len(text) == characters
    assert text.startswith(begins)
    assert text == captured(f"plain/{name}")


def test_several_choices_are_no_text() -> None:
    """Choices cannot be told from one another's text, so there is nothing to compare."""
    assert captured("plain/chat_n2") is None


def test_a_copy_that_is_not_whole_is_no_text() -> None:
    """Half of a text would differ from any other."""
    body = (LLAMA_CPP / "plain/chat_stream.body").read_bytes()
    assert text_of(body, limit=200) is None


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            (
                b'{"choices":[{"index":0,"message":{"role":"assistant","content":null,'
                b'"reasoning_content":"hm","tool_calls":[{"function":{"name":"f",'
                b'"arguments":"{\\"a\\":1}"}}]}}]}'
            ),
            'hmf{"a":1}',
        ),
        (
            (
                b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"function":'
                b'{"name":"f","arguments":""}}]}}]}\n\n'
                b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"function":'
                b'{"arguments":"{}"}}]}}]}\n\ndata: [DONE]\n\n'
            ),
            "f{}",
        ),
        (b'{"message":{"role":"assistant","content":"hi"},"done":true}', "hi"),
        (b'{"response":"hi","done":true}', "hi"),
        (
            (
                b'{"type":"message","content":[{"type":"thinking","thinking":"a"},'
                b'{"type":"text","text":"b"},{"type":"tool_use","name":"f","input":{"c":1}}]}'
            ),
            'abf{"c":1}',
        ),
        (b'{"choices":[{"index":0,"message":{"content":[{"type":"text","text":"x"}]}}]}', "x"),
        (b'{"choices":7,"content":{"a":[]}}', ""),
        (b"[1]", ""),
        (b"no JSON", None),
    ],
)
def test_other_shapes(body: bytes, text: str | None) -> None:
    """Reasoning and calls of tools count too; what has no text has none, and nothing raises."""
    assert text_of(body) == text
