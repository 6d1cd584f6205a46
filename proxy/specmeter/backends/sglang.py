"""SGLang: `sglext.spec_tokens_details` of its OpenAI endpoints, `meta_info` of `/generate`.

Source: python/sglang/srt/entrypoints/openai/{serving_chat,serving_completions,protocol,utils}.py.
`meta_info` has the numbers by itself, on a stream's last chunk. The OpenAI endpoints have them
since August 2026, and only where the request says `return_spec_tokens_details`; a stream has a
chunk without choices for them, before the usage chunk. There what the scheduler does not report is
filled in with 0, so only numbers with a verification behind them count.

Every step of a speculating server is a verification (`spec_verify_ct`). The drafted tokens are
nominal: verifications times the draft's length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specmeter.backends.base import Extract, Message
from specmeter.backends.choices import Choice, each_choice, last_of_each
from specmeter.backends.completion import read_completion, read_output
from specmeter.backends.counts import NOTHING_KNOWN, Drafts, count_per_position
from specmeter.backends.injection import (
    CHAT,
    COMPLETIONS,
    Asked,
    Habits,
    Request,
    Undo,
    has_several_prompts,
    usage_options,
)
from specmeter.backends.usage import Usage
from specmeter.reading import RawNumbers

_SWITCH = "return_spec_tokens_details"
_EXTENSION = "sglext"

_ACCEPTED = (
    *("spec_num_correct_drafts", "spec_accepted_drafts"),
    *("spec_accepted_tokens", "spec_accept_token_num"),
)
_PROPOSED = (
    *("spec_num_proposed_drafts", "spec_proposed_drafts"),
    *("spec_draft_tokens", "spec_draft_token_num"),
)
_HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram")
"""Under the names of each version, the newest first; forks as tokenspeed keep older ones."""


class SglangInjection:
    """Asks for the drafts, and for the usage of streams.

    A server started with `--stream-response-default-include-usage` sends usage unasked, and its
    clients may count on it. So the first stream is not asked for usage, but watched.
    """

    endpoints = frozenset((CHAT, COMPLETIONS))

    def may_ask(self, habits: Habits) -> bool:  # noqa: ARG002
        """Any request may not ask itself."""
        return True

    def ask(self, endpoint: str, request: Request, habits: Habits) -> Asked | None:  # noqa: ARG002
        """Ask for what the client has not asked for itself."""
        members: Request = {}
        wants_drafts = _may_ask_for_drafts(request)
        if wants_drafts:
            members[_SWITCH] = True
        options = usage_options(request)
        asks_itself = options is None or bool(options.get("include_usage"))
        wants_usage = not asks_itself and habits.usage_unasked is False
        running = (
            habits.running_usage
            and options is not None
            and not options.get("continuous_usage_stats")
            and not has_several_prompts(request)
        )
        if options is not None and (wants_usage or running):
            members["stream_options"] = {
                **options,
                **({"include_usage": True} if wants_usage else {}),
                **({"continuous_usage_stats": True} if running else {}),
            }
        if not members:
            return None
        undo = Undo(
            usage_chunk=wants_usage,
            running_usage=running,
            null_usage=_NULL_USAGE,
            extension=_EXTENSION.encode() if wants_drafts else b"",
            watch_usage=not asks_itself and habits.usage_unasked is None,
        )
        return Asked(members, undo)


_NULL_USAGE = (b'"object":"text_completion"', b'"tool_calls":')
"""Chunks written by pydantic, which writes null where there is no usage. Those of chat without
tool calls are written by msgspec, which writes nothing; older versions had pydantic write all, with
`"tool_calls":null`."""


def _may_ask_for_drafts(request: Request) -> bool:
    """Whether the extension holds nothing but the drafts, so that it can be taken out whole."""
    asked_for = any(name.startswith("return_") and value for name, value in request.items())
    return not asked_for and _SWITCH not in request and not has_several_prompts(request)


class Sglang:
    """Reads the speculation of one request, under all names it has had."""

    name = "sglang"
    markers: tuple[bytes, ...] = (b'"usage"', b'"sglext"', b'"meta_info"')
    injection = SglangInjection()

    def recognises(self, message: Message) -> bool:
        """Tell by its extension, its `meta_info`, its `matched_stop`, or a model's owner."""
        if message.get("owned_by") == "sglang" or isinstance(message.get(_EXTENSION), dict):
            return True
        if isinstance(message.get("meta_info"), dict):
            return True
        return any(
            "matched_stop" in choice or isinstance(choice.get("meta_info"), dict)
            for _, choice in each_choice(message)
        )

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Take each native result's own numbers, or an OpenAI answer's drafts and usage."""
        if native := _native_results(messages):
            return Extract(tuple(_read_native(info) for info in native))
        return read_completion(messages, [_read(details) for details in _details(messages)])


def _native_results(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the last `meta_info` of each result; a stream repeats it on every chunk."""
    results: dict[Any, dict[str, Any]] = {}
    for message in messages:
        info = message.get("meta_info")
        if isinstance(info, dict):
            name = info.get("id", message.get("index"))
            results[name if isinstance(name, str | int) else None] = info
    return list(results.values())


def _details(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the drafts of each choice of an OpenAI answer, as far as they are told."""
    for message in reversed(messages):
        extension = message.get(_EXTENSION)
        details = extension.get("spec_tokens_details") if isinstance(extension, dict) else None
        if isinstance(details, dict):
            return [details]
        if isinstance(details, list):
            return [item for item in details if isinstance(item, dict)]
    return last_of_each(messages, _info_of)


def _info_of(choice: Choice) -> dict[str, Any] | None:
    info = choice.get("meta_info")
    return info if isinstance(info, dict) else None


def _read(info: dict[str, Any]) -> Drafts:
    verifications = info.get("spec_verify_ct")
    if verifications in (None, 0):
        return NOTHING_KNOWN
    # The prompt pass brings the first token, and is no verification.
    steps = verifications + 1 if type(verifications) is int else verifications
    proposed, accepted = _first(info, _PROPOSED), _first(info, _ACCEPTED)
    if proposed in (None, 0) and accepted in (None, 0):
        return Drafts(steps=steps)
    positions = count_per_position(_first(info, _HISTOGRAM))
    return Drafts(proposed, accepted, verifications, positions, steps)


def _read_native(info: dict[str, Any]) -> RawNumbers:
    tokens = Usage(
        info.get("completion_tokens"), info.get("prompt_tokens"), info.get("cached_tokens")
    )
    return read_output(tokens, _read(info))


def _first(info: dict[str, Any], names: Sequence[str]) -> Any:
    return next((info[name] for name in names if info.get(name) is not None), None)
