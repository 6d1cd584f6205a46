"""Requests for completions: every endpoint and every way of asking."""

from dataclasses import dataclass, field
from typing import Any

COLOURS = "red\ngreen\nblue\nwhite\nblack\n" * 8
"""A text that the model goes on repeating, so that the n-gram drafter has much to offer."""

CODE = "def f(a):\n    return a + 1\n\n" * 5


@dataclass(frozen=True)
class Ask:
    """One request; each of its `choices` is a completion of its own."""

    path: str
    body: dict[str, Any] = field(repr=False)
    choices: int = 1


def _text(prompt: Any, **more: Any) -> dict[str, Any]:
    return {"prompt": prompt, "max_tokens": 24, "temperature": 0, "seed": 1} | more


def _chat(text: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"messages": [message], "max_tokens": 24, "temperature": 0, "seed": 1} | more


def _responses(text: str, **more: Any) -> dict[str, Any]:
    return {"input": text, "max_output_tokens": 16, "temperature": 0} | more


_USAGE = {"stream_options": {"include_usage": True}}
_TWO = ["one, two, three, four,", "Monday, Tuesday, Wednesday,"]

REPORTING = (
    Ask("/v1/chat/completions", _chat(COLOURS)),
    Ask("/v1/chat/completions", _chat(COLOURS, stream=True)),
    Ask("/v1/chat/completions", _chat(COLOURS, stream=True, **_USAGE)),
    Ask("/v1/chat/completions", _chat("Say hello.", stream=True, timings_per_token=True)),
    Ask("/chat/completions", _chat("Say hello.", model="gpt-4o")),
    Ask("/v1/completions", _text(COLOURS)),
    Ask("/v1/completions", _text(COLOURS, stream=True)),
    Ask("/v1/completions", _text(CODE, stream=True, **_USAGE)),
    Ask("/v1/completions", _text(_TWO, stream=True, max_tokens=12), choices=2),
    Ask("/completion", _text(COLOURS)),
    Ask("/completion", _text(CODE, stream=True)),
    Ask("/completions", _text(_TWO, max_tokens=12), choices=2),
    Ask("/v1/responses", _responses(COLOURS, stream=True)),
)
"""What the server answers with numbers for each choice."""

SILENT = (
    Ask("/v1/messages", _chat("Say hello.")),
    Ask("/v1/messages", _chat("Say hello.", stream=True)),
    Ask("/v1/responses", _responses("Say hello.")),
)
"""What the server answers without a word about drafting."""
