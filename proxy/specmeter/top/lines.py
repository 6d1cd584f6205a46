"""A summary as plain lines; what came from outside is cleaned, as a terminal obeys it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

UNKNOWN = "\N{EN DASH}"

# What moves the cursor, changes colours, or turns the direction of text.
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_LONGEST = 60

_DRAFTING = {
    "configured": "configured, not seen yet",
    "drafting": "drafting",
    "no_candidate": "on, nothing to draft from of late",
    "off": "off",
    "unknown": "unknown",
}

NUMBERS = (
    ("acceptance", "acceptance", "accepted", "drafted"),
    ("output_per_step", "output per target step", "tokens", "steps"),
    ("mean_acceptance_length", "mean acceptance length", "1 + accepted", "rounds with a draft"),
    ("tokens_per_second", "tokens per second", "tokens", "decode seconds"),
)
"""Key, name, and what its fraction is made of."""


def clean(text: object, longest: int = _LONGEST) -> str:
    """Return a text that is safe to print, cut where it is too long."""
    cleaned = _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", str(text))
    return cleaned if len(cleaned) <= longest else cleaned[: longest - 1] + "…"


def upstream_line(upstream: dict[str, Any]) -> str:
    """Return one line on a server."""
    state = {True: "up", False: "down"}.get(upstream.get("up"), "not asked yet")  # type: ignore[arg-type]
    what = " ".join(clean(upstream[key]) for key in ("kind", "build", "method") if key in upstream)
    under_way = upstream["under_way"]
    return (
        f"{clean(upstream['name'])}: {state}, {what or 'kind unknown'}, speculation "
        f"{_DRAFTING.get(upstream['drafting'], clean(upstream['drafting']))}, "
        f"{under_way or 'nothing'} under way"
    )


def model_lines(model: dict[str, Any], *, all_advice: bool = True) -> Iterator[str]:
    """Yield the lines on one model: the verdict, the numbers, what a step costs, what to do."""
    verdict, numbers = model["verdict"], model["numbers"]
    yield f"{clean(model['upstream'])} · {clean(model['model'])}: {verdict['headline']}"
    yield f"  {clean(verdict['sentence'], 600)}"
    if numbers["completions"]:
        for key, name, over, under in NUMBERS:
            yield f"  {name:24}{_fraction(numbers.get(key), key, over, under)}"
    if "step_ms" in numbers:
        yield f"  {'milliseconds per step':24}{_step(numbers)}"
    for advice in verdict.get("advice", ()) if all_advice else ():
        if text := advice.get("text"):
            yield f"  {clean(text, 200)}"
        for key in ("command", "settings"):
            for line in advice.get(key, "").splitlines():
                yield f"    {clean(line, 300)}"


def _fraction(found: dict[str, float] | None, key: str, over: str, under: str) -> str:
    if found is None:
        return f"{UNKNOWN:>7}"
    digits = 1 if key == "tokens_per_second" else 3 if key == "acceptance" else 2
    below = f"{found['under']:.1f}" if key == "tokens_per_second" else f"{found['under']:.0f}"
    return f"{found['value']:>7.{digits}f} = {over} {found['over']:.0f} / {under} {below}"


def _step(numbers: dict[str, Any]) -> str:
    even = numbers.get("break_even_ms")
    pays = "break-even unknown" if even is None else f"pays below {even:.1f}"
    return f"{numbers['step_ms']:>7.1f}, {pays}"
