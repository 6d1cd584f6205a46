"""What a server is asked for so that it reports, and what that adds to its answer.

A backend says here what it wants in the request and what has to be taken out of the answer again;
`gateway` does both, so that the client gets the bytes it would have got.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from specmeter.discreet import Discreet

Request = dict[str, Any]
"""The JSON object a client sends."""

COMPLETIONS = "/v1/completions"
CHAT = "/v1/chat/completions"


class Habits(msgspec.Struct, frozen=True):
    """What is known of a server, or wanted of it, when a request is about to go out."""

    running_usage: bool = False
    """Whether usage on every chunk is wanted (`continuous_usage` of the configuration)."""
    usage_unasked: bool | None = None
    """Whether its streams end with usage also where nobody asked; `None` if not yet known."""
    meter_cancelled: bool = False
    """Whether streams that their client leaves are wanted (`meter_cancelled` of the config)."""


class Undo(msgspec.Struct, frozen=True):
    """What an answer has only because its request asked for it."""

    usage_chunk: bool = False
    """A stream's chunk without choices that brings the usage."""
    fingerprint_moves: bool = False
    """With that chunk, `system_fingerprint` is on it instead of on the one that finishes."""
    running_usage: bool = False
    """`usage` on every chunk with choices."""
    running_timings: bool = False
    """`timings` on every chunk but the last of a choice, which has them anyway."""
    null_usage: tuple[bytes, ...] = ()
    """Bytes that mark a chunk which would have had `"usage":null`; others would have had none."""
    extension: bytes = b""
    """A member: a stream has a chunk without choices for it, a document has it last."""
    watch_usage: bool = False
    """Whether to note if the usage chunk came although nobody asked for it."""


class Asked(Discreet, msgspec.Struct, frozen=True):
    """An addition to a request."""

    members: Request
    """To be added to the request; they override members of that name."""
    undo: Undo


class Injection(Protocol):
    """A server kind's request switches."""

    @property
    def endpoints(self) -> frozenset[str]:
        """Those that know the switches."""

    def may_ask(self, habits: Habits) -> bool:
        """Whether it may add to any request, so that requests have to be looked at."""

    def ask(self, endpoint: str, request: Request, habits: Habits) -> Asked | None:
        """Say what to add to a request; `None` where it should go out as it is."""


def usage_options(request: Request) -> dict[str, Any] | None:
    """Return a stream's `stream_options`; `None` where it is no stream or they are odd."""
    options = request.get("stream_options")
    if options is None:
        options = {}
    if request.get("stream") is not True or not isinstance(options, dict):
        return None
    if not isinstance(options.get("include_usage"), bool | None):
        return None
    return options


def has_several_outputs(request: Request) -> bool:
    """Whether it asks for more than one output: by `n`, by `best_of`, or by several prompts."""
    if request.get("n") not in (None, 1) or request.get("best_of") not in (None, 1):
        return True
    return has_several_prompts(request)


def has_several_prompts(request: Request) -> bool:
    """Whether `prompt` is a list of prompts; a list of numbers is one, in tokens."""
    prompt = request.get("prompt")
    return isinstance(prompt, list) and not all(isinstance(token, int) for token in prompt)
