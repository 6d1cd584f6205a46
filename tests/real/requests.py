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


def text(prompt: Any, **more: Any) -> dict[str, Any]:
    """Give the body of a text completion."""
    return {"prompt": prompt, "max_tokens": 24, "temperature": 0, "seed": 1} | more


def chat(content: str, **more: Any) -> dict[str, Any]:
    """Give the body of a chat completion, or of an Anthropic message."""
    message = {"role": "user", "content": content}
    return {"messages": [message], "max_tokens": 24, "temperature": 0, "seed": 1} | more


def responses(content: str, **more: Any) -> dict[str, Any]:
    """Give the body of a request to the responses API."""
    return {"input": content, "max_output_tokens": 16, "temperature": 0} | more


USAGE = {"stream_options": {"include_usage": True}}
_TWO = ["one, two, three, four,", "Monday, Tuesday, Wednesday,"]

REPORTING = (
    Ask("/v1/chat/completions", chat(COLOURS)),
    Ask("/v1/chat/completions", chat(COLOURS, stream=True)),
    Ask("/v1/chat/completions", chat(COLOURS, stream=True, **USAGE)),
    Ask("/v1/chat/completions", chat("Say hello.", stream=True, timings_per_token=True)),
    Ask("/chat/completions", chat("Say hello.", model="gpt-4o")),
    Ask("/v1/completions", text(COLOURS)),
    Ask("/v1/completions", text(COLOURS, stream=True)),
    Ask("/v1/completions", text(CODE, stream=True, **USAGE)),
    Ask("/v1/completions", text(_TWO, stream=True, max_tokens=12), choices=2),
    Ask("/completion", text(COLOURS)),
    Ask("/completion", text(CODE, stream=True)),
    Ask("/completions", text(_TWO, max_tokens=12), choices=2),
    Ask("/v1/responses", responses(COLOURS, stream=True)),
)
"""What the server answers with numbers for each choice."""

SILENT = (
    Ask("/v1/messages", chat("Say hello.")),
    Ask("/v1/messages", chat("Say hello.", stream=True)),
    Ask("/v1/responses", responses("Say hello.")),
)
"""What the server answers without a word about drafting."""
