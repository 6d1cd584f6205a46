"""Does speculation pay? The answer in words, with what it rests on."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from specmeter.api.baselines import AGAINST, Advice, how_to_get_one
from specmeter.api.numbers import Numbers, SpeedupNumber
from specmeter.history.timeline import Range
from specmeter.speedup.baseline import Source
from specmeter.upstream.drafting import Drafting
from specmeter.upstream.upstreams import Upstream


class Kind(StrEnum):
    """What is said."""

    FASTER = "faster"
    SLOWER = "slower"
    CANNOT_TELL = "cannot_tell"
    NO_BASELINE = "no_baseline"
    OFF = "off"
    """The server says that speculation is off, or it is another one's plain server."""
    NOT_DRAFTED = "not_drafted"
    """It may be on, but nothing was drafted."""
    NOT_REPORTED = "not_reported"
    """Its answers say nothing of drafting, and there is no baseline either."""
    NO_TRAFFIC = "no_traffic"
    DOWN = "down"
    """No traffic, and the server does not answer."""


class VerdictOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer."""

    kind: Kind
    headline: str
    """One to three words, with the number if there is one."""
    sentence: str
    """What it rests on."""
    advice: list[Advice] = []


class Seen(msgspec.Struct, frozen=True):
    """What the verdict on one model is made from."""

    upstream: Upstream
    plain_of: list[str]
    """Names of upstreams that are compared with this one."""
    numbers: Numbers
    of: Range
    ever: bool
    """Whether it ever had a completion."""
    data_url: str


_SPANS = {"5m": "five minutes", "1h": "hour", "24h": "24 hours"}


def verdict_on(seen: Seen) -> VerdictOut:
    """Return the answer for one model over a range."""
    numbers = seen.numbers
    if not numbers.completions:
        return _nothing_came(seen)
    if seen.plain_of:
        names = ", ".join(seen.plain_of)
        return VerdictOut(
            Kind.OFF, "Plain", f"This is the plain server that {names} is compared with."
        )
    if not numbers.drafted and numbers.not_drafted:
        return _nothing_drafted(seen)
    if numbers.speedup is None:
        return _no_baseline(seen)
    return _compared(numbers.speedup)


def _nothing_came(seen: Seen) -> VerdictOut:
    upstream = seen.upstream
    if upstream.up is False:
        return VerdictOut(
            Kind.DOWN,
            "No answer",
            f"The server at {upstream.settings.url} does not answer. Start it: nothing else is "
            "needed, it is asked again every few seconds.",
        )
    if seen.ever:
        return VerdictOut(
            Kind.NO_TRAFFIC,
            "No traffic",
            f"No completion in the last {_SPANS[seen.of.name]}. Look further back, or send one.",
        )
    return VerdictOut(
        Kind.NO_TRAFFIC,
        "No traffic yet",
        "No completion has passed the proxy. Point a client at it:",
        [Advice("", command=f"export OPENAI_BASE_URL={seen.data_url}/v1")],
    )


def _nothing_drafted(seen: Seen) -> VerdictOut:
    count = _completions(seen.numbers.not_drafted)
    state = seen.upstream.drafting.state
    if state is Drafting.OFF:
        return VerdictOut(
            Kind.OFF,
            "Off",
            f"The server says that speculation is off; nothing was drafted in {count}. "
            "Start it with a drafter, and its speedup is told here.",
        )
    maybe = (
        "It is on, but found nothing to draft from: usual for n-gram kinds on text without "
        "repetition."
        if state in (Drafting.NO_CANDIDATE, Drafting.CONFIGURED, Drafting.DRAFTING)
        else "It may be off, or on without a candidate: the server does not say which."
    )
    return VerdictOut(
        Kind.NOT_DRAFTED, "Nothing drafted", f"Nothing was drafted in {count}. {maybe}"
    )


def _no_baseline(seen: Seen) -> VerdictOut:
    numbers = seen.numbers
    if not numbers.drafted:
        return VerdictOut(
            Kind.NOT_REPORTED,
            "Not reported",
            f"The server says nothing of drafting in {_completions(numbers.not_reported)}. What it "
            "would take to see more stands below, with the upstreams.",
        )
    return VerdictOut(
        Kind.NO_BASELINE,
        "No baseline",
        "How fast the same tokens would come without speculation is not known, so neither is the "
        "speedup. How to get a baseline:",
        how_to_get_one(seen.upstream.settings),
    )


def _compared(found: SpeedupNumber) -> VerdictOut:
    against = _against(found)
    count = _completions(found.completions)
    stale = " The baseline is of another build or model: measure it again." if found.stale else ""
    ratio = times(found.value)
    if found.low is None or found.high is None:
        return VerdictOut(
            Kind.CANNOT_TELL,
            "Cannot tell yet",
            f"About {ratio}, over {count} only: four of equal length are needed to say "
            f"how sure that is. Measured against {against}.{stale}",
        )
    kind = Kind(found.verdict)
    rest = f"({between(found.low, found.high)}), measured against {against}, over {count}.{stale}"
    if kind is Kind.CANNOT_TELL:
        return VerdictOut(
            kind,
            "Cannot tell",
            f"{ratio} {rest} The interval contains 1: more completions narrow it.",
        )
    word = "Faster" if kind is Kind.FASTER else "Slower"
    return VerdictOut(kind, f"{word} {ratio}", f"{ratio} as fast as without speculation {rest}")


def times(number: float) -> str:
    """Return a factor as it is written: 1.42 with a multiplication sign."""
    return f"{number:.2f}\N{MULTIPLICATION SIGN}"


def between(low: float, high: float) -> str:
    """Return an interval as it is written, with a dash between its ends."""
    return f"{low:.2f}\N{EN DASH}{high:.2f}"


def _against(found: SpeedupNumber) -> str:
    texts = [AGAINST[Source(source)] for source in found.baselines]
    return texts[0] if len(texts) == 1 else " and ".join((", ".join(texts[:-1]), texts[-1]))


def _completions(count: int) -> str:
    return f"{count} completion{'' if count == 1 else 's'}"
