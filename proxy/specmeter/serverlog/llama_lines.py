"""The expressions for llama.cpp's lines, and which of their groups is what."""

from __future__ import annotations

import re
from collections.abc import Iterable

from specmeter.serverlog.lines import Origin, Shape, is_text, origin

# Nothing is tried twice (`++`, `*+`): that makes a quarter of the time.
_TOKEN = rb"([^\s,;()|/]++)"
_TIME = rb"= *+" + _TOKEN + rb" ms *+/ *+" + _TOKEN + rb" tokens"
_ACCEPTED_OF = _TOKEN + rb" ++accepted *+/ *+" + _TOKEN + rb" ++generated"
_DRAFT = rb"= *+" + _TOKEN + rb" *+\( *+" + _ACCEPTED_OF + rb"\)"
_MEAN = rb"(?:, mean (?:len|acceptance length) *+= *+(\d+\.\d{2,}))?"  # else it was cut off
_RATES = rb"(?:, acceptance rate per position *+= *+\(([^)\n]*)\))?"
_UPTIME = rb"\d+\.\d\d\.\d{3}\.\d{3} [A-Z] "
_SAME_SLOT = rb": id ++\1 \| task ++\2 \|"
_HEAD = rb"slot ++print_timing" + _SAME_SLOT


def headed(shape: Shape) -> re.Pattern[bytes]:
    """Return the expression for a line with a slot's head, and those that follow it directly.

    A whole request is one match, since that is what logs are made of, and Python costs more than
    the expression. Lines that other lines come between are matches of their own.

    Args:
        shape: How the lines that follow are wrapped.
    """
    wrapper = shape.wrapper
    old = wrapper + rb"(?:" + _UPTIME + rb")? *+"
    new = wrapper + (_UPTIME if shape.has_uptime else b"")
    rest = rb"[^\n|]*+\n"  # of a line, but not over another head
    timing = rest + rb"(?(3)" + old + rb"|" + new + _HEAD + rb" *+)"
    lead = rest + rb"(?(3)" + old + rb"|" + new + rb")"
    return re.compile(
        rb": id ++(\d{1,9}) \| task ++(-?\d{1,18}) \| *+(?:"
        + (rb"(?:(\n)" + old + rb")?prompt eval time " + _TIME)
        + (rb"(?:" + timing + rb"eval time " + _TIME)
        + (rb"(?:" + timing + rb"(?:total time|graphs reused))*")
        + (rb"(?:" + timing + rb"draft acceptance(?: rate)? " + _DRAFT + _MEAN + _RATES)
        + (rb"(?:" + lead + _HEAD + rb" *+acc per pos *+= *+\(([^)\n]*)\))?)?")
        + (rb"(?:" + lead + rb"(?:spec ++\S+ +)?statistics )*")
        + (rb"(?:" + lead + rb"slot ++release" + _SAME_SLOT + rb" *+(stop processing))?")
        + (rb")?|eval time " + _TIME)
        + (rb"|draft acceptance(?: rate)? " + _DRAFT + _MEAN + _RATES)
        + rb"|acc per pos *+= *+\(([^)\n]*)\)"
        + (rb"|accepted ++" + _TOKEN + rb"/ *+" + _TOKEN + rb" draft tokens([^\n]*)")
        + rb"|draft acceptance(?: rate)? *+=()|(?:prompt )?eval time =()"
        + rb"|(stop processing)|()(?=\n))"
    )


NEVER = Shape(rb"(?!)", has_uptime=False)
"""A wrapper that no line has: with it every line is a match of its own."""

SLOT, TASK, HEAD_BEFORE = 1, 2, 3
PROMPT_NUMBERS, EVAL_TOO_NUMBERS, DRAFT_TOO_NUMBERS = (4, 5), (6, 7), (8, 9, 10, 11, 12)
DRAFTED_TOO, POSITIONS_TOO = 10, 13
EVAL_NUMBERS, DRAFT_NUMBERS, ROUND_NUMBERS = (15, 16), (17, 18, 19, 20, 21), (23, 24, 25)
# The last group of a match tells its kind.
PROMPT, STOP_TOO = 5, 14
EVAL, POSITIONS, ROUND, DAMAGED_DRAFT, DAMAGED_TIME, STOP = 16, 22, 25, 26, 27, 28
PROMPTS = frozenset((PROMPT, 7, 10, 11, 12, 13, STOP_TOO))
DRAFTS = frozenset((19, 20, 21))

_SLOT_FUNCTION = rb"slot +[^\s{\\]+"
_SLOT_WORDS = re.compile(rb"(?:.*[\s:])?" + _SLOT_FUNCTION)

EVAL_TIME, DRAFT_ACCEPTANCE = b"eval time =", b"draft acceptance"
BARE_EVAL = re.compile(rb"eval time " + _TIME)
BARE_DRAFT = re.compile(rb"draft acceptance(?: rate)? " + _DRAFT + _MEAN + _RATES)
DAMAGED_BARE_DRAFT = re.compile(rb"draft acceptance(?: rate)? *=")
PROMPT_WORD = b"prompt "


def wrapped(shape: Shape) -> re.Pattern[bytes]:
    """Return the expression for what stands before the `: id` of a line that is wrapped so."""
    uptime = rb"(" + _UPTIME + rb")" if shape.has_uptime else rb"()"
    return re.compile(shape.wrapper + uptime + _SLOT_FUNCTION)


def unwrapped(uptime: bytes) -> Origin:
    """Return where a line comes from that nothing wraps.

    Args:
        uptime: What the expression of `wrapped` found.
    """
    return Origin(None, uptime[:-3].decode() if uptime else None, b"")


def place(prefix: bytes) -> Origin | None:
    """Tell where a line with a slot's head comes from.

    Args:
        prefix: What stands before the head's `: id`.

    Returns:
        `None` if it is no log's prefix but somebody's text.
    """
    where = origin(prefix)
    return where if _SLOT_WORDS.fullmatch(where.rest) and not is_text(where.rest) else None


def lines_in(matches: Iterable[re.Match[bytes]]) -> tuple[int, int]:
    """Return how many lines of decode times and of drafts are in the matches."""
    evals = drafts = 0
    for match in matches:
        kind = match.lastindex
        if kind in PROMPTS:
            evals += 1 if kind == PROMPT else 2
            drafts += match[DRAFTED_TOO] is not None
        elif kind in (EVAL, DAMAGED_TIME):
            evals += 1
        elif kind in DRAFTS or kind == DAMAGED_DRAFT:
            drafts += 1
    return evals, drafts
