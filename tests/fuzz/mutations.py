"""Ways to damage an answer: its bytes, or the values in it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import orjson

_NAMES = (
    *("timings", "usage", "metrics", "speculative_decoding", "speculative_decoding_stats"),
    *("choices", "index", "response", "message", "result", "results", "stats", "sglext"),
    *("spec_tokens_details", "meta_info", "id", "acceptance_histogram", "draft_by_depth", "depth"),
    *("draft_n", "draft_n_accepted", "predicted_n", "predicted_ms", "completion_tokens", "error"),
    *("eval_count", "eval_duration", "done", "avg_decoded_tokens_per_iter", "model", "type"),
    *("completion_tokens_details", "accepted_prediction_tokens", "total_draft_tokens_count"),
    *("spec_verify_ct", "spec_num_proposed_drafts", "num_spec_steps", "peak_memory", "n_past"),
    *("system_fingerprint", "owned_by", "completion_tokens_per_sec", "delta", "text", "content"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, 7, 64, 129, -1, -64, 2**31, 2**53, -(2**63), 2**64 - 1),
    *(0.0, 0.5, 1.0, -0.5, 1e-300, 1e300, -1e300, 129.0, "", "0", "129", "x", "\u2028", "NaN"),
    *([], {}, [0], [-1], [None], [[]], {"0": 1}, {"x": 1}, {"4096": 1}, [1e300], [24, 23, 10, 7]),
    *("vllm-0.32.0-1", "b11434-abc", "fp_ollama", "llamacpp", "sglang"),
)
_PIECES = (
    *(b"\n", b"\r", b"\r\n", b"\n\n", b"data: ", b"data:", b": ping\n\n", b"event: x\n"),
    *(b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"null", b"NaN", b"1e999", b"\xff", b"\x00"),
    *(b"data: [DONE]\n\n", b'{"error":{}}', b'"choices":[]', b'"usage":{', b'"usage":{}', b"\xef"),
)


def damage_bytes(dice: random.Random, raw: bytes) -> bytes:
    """Return the bytes with a few places changed."""
    data = bytearray(raw)
    for _ in range(dice.randint(1, 4)):
        at = dice.randint(0, len(data))
        end = min(at + dice.choice((0, 1, 2, 10, 200)), len(data))
        piece = bytes(data[at:end])
        dice.choice(_BYTES)(dice, data, at, end, piece)
    return bytes(data)


def _insert(dice: random.Random, data: bytearray, at: int, _end: int, _piece: bytes) -> None:
    data[at:at] = dice.choice(_PIECES)


def _replace(dice: random.Random, data: bytearray, at: int, end: int, _piece: bytes) -> None:
    data[at:end] = dice.randbytes(end - at)


def _remove(_dice: random.Random, data: bytearray, at: int, end: int, _piece: bytes) -> None:
    del data[at:end]


def _repeat(dice: random.Random, data: bytearray, at: int, _end: int, piece: bytes) -> None:
    data[at:at] = piece * dice.randint(1, 3)


def _cut(_dice: random.Random, data: bytearray, at: int, _end: int, _piece: bytes) -> None:
    del data[at:]


_BYTES: tuple[Callable[[random.Random, bytearray, int, int, bytes], None], ...] = (
    *(_insert, _replace, _remove, _repeat, _cut),
)


def damage_values(dice: random.Random, messages: Sequence[Any]) -> list[Any]:
    """Return the messages with a few values changed, moved, renamed, repeated or gone."""
    damaged = orjson.loads(orjson.dumps(list(messages)))
    for _ in range(dice.randint(1, 4)):
        holders = _holders(damaged)
        holder = dice.choice(holders)
        other = dice.choice(holders)
        if isinstance(holder, dict) and (holder or dice.random() < 0.5):
            key = dice.choice(list(holder) or _NAMES)
            _change(dice, holder, key, dice.choice(_NAMES), other)
        elif holder:
            at = dice.randrange(len(holder))
            holder[at] = _copy(dice.choice((dice.choice(_VALUES), other)))
    return [message for message in damaged if dice.random() > 0.02]


def _change(dice: random.Random, holder: dict[str, Any], key: str, name: str, other: Any) -> None:
    what = dice.randrange(5)
    if what == 0:
        holder.pop(key, None)
    elif what == 1:
        holder[name] = _copy(dice.choice(_VALUES))
    elif what == 2:
        holder[name] = holder.pop(key, None)
    elif what == 3:
        holder[name] = _copy(other)
    else:
        holder[key] = _copy(dice.choice(_VALUES))


def _holders(value: Any) -> list[Any]:
    found = [value]
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            found += _holders(item)
    return found


def _copy(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))
