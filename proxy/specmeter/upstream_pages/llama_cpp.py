"""llama.cpp's page.

Source: tools/server/server-task.cpp and server-models.cpp of llama.cpp. Needs `--metrics`. Numbers
change only when a request ends. Traps: all but the positions are printed with six digits, so from
a million on they go up in steps; `…per_pos…` is exact, and absent until something was accepted;
prompt tokens exclude those found in the cache, which have a counter of their own in newer builds.

A router has a page for each model. Asking for the page of one that is not loaded would load it,
and one that sleeps is woken by it in builds before August 2026, so only loaded ones are asked for.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar
from urllib.parse import quote

import orjson

from specmeter.upstream_pages.base import Key, Name, Page, Samples, Target, Value
from specmeter.upstream_pages.labelled import parse_position

_LARGEST_EXACT = 1e6
_DIGITS = 6


class LlamaCppPage:
    """Reads `llamacpp:…`."""

    prefix = "llamacpp:"
    remedies: ClassVar = {501: "start llama-server with --metrics"}
    needs_listing = True
    shows_speculation = False

    _RUNNING = "llamacpp:requests_processing"
    _GENERATED = "llamacpp:tokens_predicted_total"
    _PROMPT = "llamacpp:prompt_tokens_total"
    _CACHED_PROMPT = "llamacpp:prompt_tokens_cached_total"
    _DRAFTS = "llamacpp:spec_decode_num_drafts_total"
    _DRAFT_TOKENS = "llamacpp:spec_decode_num_draft_tokens_total"
    _ACCEPTED = "llamacpp:spec_decode_num_accepted_tokens_total"
    _PER_POSITION = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
    names = frozenset(
        (_RUNNING, _GENERATED, _PROMPT, _CACHED_PROMPT, _DRAFTS, _DRAFT_TOKENS, _ACCEPTED)
    ) | {_PER_POSITION}

    def targets(self, listing: bytes) -> tuple[Target, ...]:
        """Return the one page of a server, or those of a router's loaded models."""
        models = _models(listing)
        statuses = [(model["id"], model["status"]) for model in models if _is_routed(model)]
        if statuses:
            return tuple(
                Target(f"/metrics?model={quote(name, safe='')}&autoload=false", name, False)
                for name, status in statuses
                if status.get("value") == "loaded"
            )
        return (Target("/metrics", models[0]["id"] if len(models) == 1 else None),)

    def read(self, samples: Samples) -> Page:
        """Read the page."""
        scalars = {s.name: _rounded(s.value) for s in samples.kept if not s.labels}
        per_position = {
            parse_position(sample.labels.get("position")): Value(sample.value)
            for sample in samples.kept
            if sample.name == self._PER_POSITION
        }
        counters = {
            Key(Name.ACCEPTED_PER_POSITION, None, position): value
            for position, value in per_position.items()
        }
        whole = {
            Name.DRAFTS: scalars.get(self._DRAFTS),
            Name.DRAFT_TOKENS: scalars.get(self._DRAFT_TOKENS),
            Name.ACCEPTED_TOKENS: _exact(scalars.get(self._ACCEPTED), list(per_position.values())),
            Name.GENERATED_TOKENS: scalars.get(self._GENERATED),
            Name.PROMPT_TOKENS: _both(scalars.get(self._PROMPT), scalars.get(self._CACHED_PROMPT)),
        }
        counters |= {Key(name, None): value for name, value in whole.items() if value is not None}
        running = scalars.get(self._RUNNING)
        return Page(
            counters=counters,
            running={} if running is None else {None: running.number},
            left_out=samples.left_out,
        )


def _rounded(number: float) -> Value:
    """Tell how exact a number with six digits is."""
    if number < _LARGEST_EXACT:
        return Value(number)
    return Value(number, 10.0 ** (math.floor(math.log10(number)) + 1 - _DIGITS))


def _exact(total: Value | None, parts: list[Value]) -> Value | None:
    """Return the sum of the parts if it is what the total is rounded from, else the total."""
    if not parts:
        return total
    summed = sum(part.number for part in parts)
    if total is None or abs(summed - total.number) <= total.quantum / 2:
        return Value(summed)
    return total


def _both(one: Value | None, other: Value | None) -> Value | None:
    if one is None or other is None:
        return None
    return Value(one.number + other.number, one.quantum + other.quantum)


def _models(listing: bytes) -> list[dict[str, Any]]:
    try:
        listed = orjson.loads(listing)
    except orjson.JSONDecodeError:
        return []
    data = listed.get("data") if isinstance(listed, dict) else None
    models = data if isinstance(data, list) else []
    return [one for one in models if isinstance(one, dict) and isinstance(one.get("id"), str)]


def _is_routed(model: dict[str, Any]) -> bool:
    """Tell a router's model: only these have a status, as in {"value": "loaded"}."""
    return isinstance(model.get("status"), dict)
