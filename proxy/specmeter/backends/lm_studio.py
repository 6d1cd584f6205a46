"""LM Studio: `stats` of its own API, and drafts beside the usage of its OpenAI endpoints.

Source: the REST API's documentation (lmstudio-ai/docs, 1_developer/2_rest) and answers of 0.4.24.
`/api/v0` has `stats` with times, and draft counts in `stats` or in `usage`; `/v1` has draft counts
only; `/api/v1/chat` has neither drafts nor a time, in a stream within `chat.end`.

*Ignored* drafts were never sent to the model, so those verified are the accepted and the rejected.
`generation_time` runs from the request on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specmeter.backends.base import Extract, Message
from specmeter.backends.choices import choice_count
from specmeter.backends.completion import read_output
from specmeter.backends.counts import NOTHING_KNOWN, Drafts, scaled, total
from specmeter.backends.usage import Usage, find_usage, last_usage_object
from specmeter.unread import Unread

_TOTAL = "total_draft_tokens_count"
_ACCEPTED = "accepted_draft_tokens_count"
_REJECTED = "rejected_draft_tokens_count"
_IGNORED = "ignored_draft_tokens_count"
_OWN_KEYS = ("generation_time", "total_output_tokens", _TOTAL, _ACCEPTED)


class LmStudio:
    """Reads `stats`."""

    name = "lm_studio"
    markers: tuple[bytes, ...] = (b'"stats"', b'"usage"')
    injection = None

    def recognises(self, message: Message) -> bool:
        """Tell by its statistics, or by a model's owner."""
        if message.get("owned_by") == "organization_owner":
            return True
        stats, usage = _stats(message) or {}, message.get("usage")
        return any(key in stats for key in _OWN_KEYS) or (
            isinstance(usage, dict) and _TOTAL in usage
        )

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Take the last statistics, and the usage where there is one."""
        stats = next((s for s in map(_stats, reversed(messages)) if s is not None), {})
        usage = find_usage(messages) or _own_usage(stats)
        if usage is None:
            return Extract(unread=Unread.NO_NUMBERS)
        drafts = next(
            (held for held in (stats, last_usage_object(messages) or {}) if _has_drafts(held)), None
        )
        numbers = read_output(
            usage,
            _read(drafts) if drafts is not None else _nothing(stats),
            decode_milliseconds=_decode_milliseconds(stats),
            sequences=choice_count(messages[-1]),
        )
        return Extract((numbers,))


def _stats(message: Message) -> dict[str, Any] | None:
    for holder in (message, message.get("result")):
        if isinstance(holder, dict) and isinstance(found := holder.get("stats"), dict):
            return found
    return None


def _own_usage(stats: dict[str, Any]) -> Usage | None:
    if "total_output_tokens" not in stats:
        return None
    return Usage(stats["total_output_tokens"], stats.get("input_tokens"))


def _has_drafts(holder: dict[str, Any]) -> bool:
    return any(holder.get(key) is not None for key in (_TOTAL, _ACCEPTED, _REJECTED))


def _read(drafts: dict[str, Any]) -> Drafts:
    accepted, rejected = drafts.get(_ACCEPTED), drafts.get(_REJECTED)
    if rejected is not None:
        return Drafts(total((accepted, rejected)) if accepted is not None else rejected, accepted)
    verified, ignored = drafts.get(_TOTAL), drafts.get(_IGNORED)
    if type(verified) is int and type(ignored) is int:
        verified -= ignored
    return Drafts(verified, accepted)


def _nothing(stats: dict[str, Any]) -> Drafts:
    """Of what says nothing of drafts: `/api/v0` would have, the others may not."""
    return Drafts(0, 0) if "generation_time" in stats else NOTHING_KNOWN


def _decode_milliseconds(stats: dict[str, Any]) -> Any:
    """Return the time from the first token on; one that cannot be is found by the checks."""
    whole, first = stats.get("generation_time"), stats.get("time_to_first_token")
    if whole is None or first is None:
        return None
    for number in (whole, first):
        if type(number) not in (int, float):
            return number
    return scaled(whole - first, 1000)
