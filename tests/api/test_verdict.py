"""The verdict in words, for everything that can be the case."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from specmeter.api.numbers import Numbers, SpeedupNumber, numbers_from
from specmeter.api.verdict import Kind, Seen, between, times, verdict_on
from specmeter.config import Upstream as Settings
from specmeter.history.timeline import RANGES
from specmeter.reading import Speculation
from specmeter.speedup.baseline import Source
from specmeter.speedup.interval import Verdict
from specmeter.tally.counts import Counts
from specmeter.upstream.upstreams import Upstream

NOTHING = numbers_from(Counts())
DRAFTED = Numbers(completions=9, drafted=9, not_drafted=0, not_reported=0, generated=900)


@pytest.fixture
def upstream() -> Upstream:
    made = Upstream(Settings(url="http://127.0.0.1:8080"), asyncio.new_event_loop())
    made.loop.close()
    made.up = True
    return made


def seen(upstream: Upstream, numbers: Numbers, **more: Any) -> Seen:
    known: dict[str, Any] = {
        "plain_of": [],
        "of": RANGES["1h"],
        "ever": True,
        "data_url": "http://127.0.0.1:8088",
    }
    return Seen(upstream=upstream, numbers=numbers, **(known | more))


def compared(value: float, low: float | None, high: float | None, verdict: Verdict) -> Numbers:
    return Numbers(
        completions=9,
        drafted=9,
        not_drafted=0,
        not_reported=0,
        generated=900,
        speedup=SpeedupNumber(
            value=value,
            plain_seconds=14.2,
            spent_seconds=10.0,
            completions=8,
            verdict=verdict,
            low=low,
            high=high,
            baselines={Source.MEASURED: 8},
        ),
    )


@pytest.mark.parametrize(
    ("numbers", "kind", "headline", "told"),
    [
        (compared(1.42, 1.31, 1.53, Verdict.FASTER), Kind.FASTER, "Faster 1.42", "(1.31-1.53)"),
        (compared(0.49, 0.45, 0.53, Verdict.SLOWER), Kind.SLOWER, "Slower 0.49", "(0.45-0.53)"),
        (
            compared(1.05, 0.95, 1.15, Verdict.CANNOT_TELL),
            Kind.CANNOT_TELL,
            "Cannot tell",
            "contains 1",
        ),
        (
            compared(1.9, None, None, Verdict.CANNOT_TELL),
            Kind.CANNOT_TELL,
            "Cannot tell yet",
            "8 completions only",
        ),
    ],
)
def test_compared(
    upstream: Upstream, numbers: Numbers, kind: Kind, headline: str, told: str
) -> None:
    """The number, the interval, what it is measured against and the count are all there."""
    found = verdict_on(seen(upstream, numbers))
    sentence = found.sentence.replace("\N{EN DASH}", "-")
    assert found.kind is kind
    assert found.headline.startswith(headline)
    assert told in sentence
    assert "8 completions" in sentence
    assert "a file measured on a plain server (baseline_file)" in sentence
    assert found.advice == []


def test_a_stale_baseline_is_told(upstream: Upstream) -> None:
    """Numbers against another build's baseline say so."""
    speedup = SpeedupNumber(1.4, 14.0, 10.0, 8, Verdict.FASTER, 1.3, 1.5, {Source.FIXED: 8}, 3)
    numbers = Numbers(9, 9, 0, 0, 900, speedup=speedup)
    assert "of another build or model" in verdict_on(seen(upstream, numbers)).sentence


def test_no_baseline(upstream: Upstream) -> None:
    """The first thing to do is the exact command, with the server's own address."""
    found = verdict_on(seen(upstream, DRAFTED))
    assert found.kind is Kind.NO_BASELINE
    commands = [one.command for one in found.advice if one.command]
    assert commands == ["specmeter baseline --upstream http://127.0.0.1:8080 --out baseline.json"]
    settings = [one.settings for one in found.advice if one.settings]
    assert 'baseline_file = "baseline.json"' in settings
    assert any("holdout = 0.1" in one for one in settings)


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({"plain": "p", "holdout": 0.1}, "holdout is on: the first five completions of p"),
        ({"plain": "p", "shadow": 0.1}, "shadow is on: the first five completions of p"),
        ({"plain": "p"}, "Measure it once"),
        ({}, "Measure it once"),
    ],
)
def test_no_baseline_yet(settings: dict[str, Any], first: str) -> None:
    """Where a plain server is asked already, waiting comes first."""
    loop = asyncio.new_event_loop()
    upstream = Upstream(Settings(url="http://127.0.0.1:8080", **settings), loop)
    loop.close()
    assert verdict_on(seen(upstream, DRAFTED)).advice[0].text.startswith(first)


def test_off(upstream: Upstream) -> None:
    """Off is what the server says; without its word, nothing drafted is all that is known."""
    numbers = Numbers(completions=3, drafted=0, not_drafted=3, not_reported=0, generated=90)
    assert verdict_on(seen(upstream, numbers)).kind is Kind.NOT_DRAFTED
    assert "does not say which" in verdict_on(seen(upstream, numbers)).sentence
    upstream.drafting.configured = False
    assert verdict_on(seen(upstream, numbers)).kind is Kind.OFF
    upstream.drafting.configured = True
    upstream.drafting.saw(Speculation.NOT_DRAFTED)
    found = verdict_on(seen(upstream, numbers))
    assert found.kind is Kind.NOT_DRAFTED
    assert "found nothing to draft from" in found.sentence


def test_not_reported(upstream: Upstream) -> None:
    """A server that says nothing of drafting is not taken for one that drafts nothing."""
    numbers = Numbers(completions=3, drafted=0, not_drafted=0, not_reported=3, generated=90)
    found = verdict_on(seen(upstream, numbers))
    assert found.kind is Kind.NOT_REPORTED
    assert "3 completions" in found.sentence


def test_the_plain_server_is_no_case(upstream: Upstream) -> None:
    """What another one is compared with gets no verdict of its own."""
    numbers = Numbers(completions=3, drafted=0, not_drafted=3, not_reported=0, generated=90)
    found = verdict_on(seen(upstream, numbers, plain_of=["spec"]))
    assert (found.kind, found.headline) == (Kind.OFF, "Plain")
    assert "spec is compared with" in found.sentence


def test_nothing_came(upstream: Upstream) -> None:
    """Never, not of late, and with a server that is down are told apart."""
    never = verdict_on(seen(upstream, NOTHING, ever=False))
    assert never.kind is Kind.NO_TRAFFIC
    assert never.advice[0].command == "export OPENAI_BASE_URL=http://127.0.0.1:8088/v1"
    late = verdict_on(seen(upstream, NOTHING))
    assert (late.kind, late.advice) == (Kind.NO_TRAFFIC, [])
    assert "in the last hour" in late.sentence
    upstream.up = False
    assert verdict_on(seen(upstream, NOTHING)).kind is Kind.DOWN


def test_how_numbers_are_written() -> None:
    """With two decimals, a multiplication sign and a dash."""
    assert times(1.4) == "1.40\N{MULTIPLICATION SIGN}"
    assert between(0.5, 2) == "0.50\N{EN DASH}2.00"
