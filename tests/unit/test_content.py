"""Which events of a stream bring generated content."""

import pytest

from specmeter import sse
from specmeter.transcript.content import carries_content


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
