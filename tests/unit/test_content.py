"""Which events of a stream bring generated content."""

from pathlib import Path

import pytest

from specmeter import sse
from specmeter.transcript.content import brings_text, carries_content
from tests.examples import EXAMPLES

CAPTURES = Path(__file__).parents[1] / "captures"


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


def test_text_that_is_known_by_its_bytes_is_content() -> None:
    """In every event without a type, of every stream that was captured or made up."""
    captured = (path.read_bytes() for path in CAPTURES.rglob("*stream*.body"))
    made_up = (one.raw for one in EXAMPLES if one.form == "events")
    known = 0
    for stream in (*captured, *made_up):
        for event in sse.raw_events(stream):
            if brings_text(event) and b'"type"' not in event:
                known += 1
                assert carries_content(sse.data(event)), event
    assert known > 100


@pytest.mark.parametrize(
    ("events", "text"),
    [
        (b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', True),
        (b'data: {"choices":[{"delta":{"reasoning_content":"a"}}]}\n\n', True),
        (b'data: {"choices":[{"delta":{"content":""}}]}\n\n', False),
        (b'data: {"choices":[{"delta":{"content":null}}]}\n\n', False),
        (b'data: {"error":{"message":"say \\"content\\":\\"a\\""}}\n\n', False),
        (b'data: {"content":"', False),
        (b": ping\n\n", False),
        (b"", False),
    ],
)
def test_which_bytes_are_text(events: bytes, text: bool) -> None:
    """A value that is empty, is none, or has not come yet is not."""
    assert brings_text(events) is text
