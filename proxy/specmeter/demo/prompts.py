"""The fixed mix of prompts: what drafts well, what does not, streamed and not.

Subjects change from round to round. A drafter that remembers what it has seen would otherwise
accept everything from the second round on.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_FUNCTIONS = (
    "def f(a):\n    return a+1\n",
    "def half(x):\n    return x/2\n",
    "def area(r):\n    return r*r\n",
    "def cube(n):\n    return n**3\n",
    "def g(b):\n    return b*2\n",
    "def negate(v):\n    return v*-1\n",
)
_STORIES = (
    "a lighthouse keeper and the first snow",
    "a clock that runs backwards",
    "two friends who build a boat",
    "a market on a rainy morning",
    "a letter that arrives too late",
    "an old train in the mountains",
)
_LISTS = (
    "fruits",
    "European cities",
    "musical instruments",
    "tools",
    "sea animals",
    "flowers",
)
_ROUNDS = len(_FUNCTIONS)
_COPIES = 5
_MAX_TOKENS = 160

KINDS = ("code", "prose", "list")


@dataclass(frozen=True)
class Prompt:
    """One chat request of the mix; `kind` is one of `KINDS`."""

    kind: str
    text: str
    streamed: bool

    @property
    def label(self) -> str:
        """The kind, and whether the answer is streamed."""
        return f"{self.kind}, stream" if self.streamed else self.kind

    def body(self, model_name: str) -> dict[str, Any]:
        """The JSON body of the request to that model: greedy, so that every run is alike."""
        body: dict[str, Any] = {
            "model": model_name,
            "messages": [{"role": "user", "content": self.text}],
            "max_tokens": _MAX_TOKENS,
            "temperature": 0,
            "stream": self.streamed,
        }
        if self.streamed:
            body["stream_options"] = {"include_usage": True}
        return body


def mix() -> Iterator[Prompt]:
    """Yield prompts without end, one of each kind in turn; half of every kind is streamed."""
    for turn in itertools.count():
        subject = turn % _ROUNDS
        streamed = turn % 2 == 0
        code = "\n".join([_FUNCTIONS[subject]] * _COPIES)
        yield Prompt("code", f"Repeat this code ten times:\n\n{code}", streamed)
        yield Prompt("prose", f"Write a short story about {_STORIES[subject]}.", not streamed)
        yield Prompt("list", f"List thirty {_LISTS[subject]}, separated by commas.", streamed)
