"""A count that is off by one is seen, whichever way, in whatever family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from specmeter.meter.completion import Completion
from specmeter.meter.meter import Meter
from specmeter.reading import Inconsistency, Reading
from specmeter.unread import Unread
from tests.gateway.client import CHAT
from tests.gateway.proxy import Metrics
from tests.soak.judge import Seen, judge
from tests.soak.ledger import COMPARED, Ledger, counted, differences
from tests.soak.numbers import Numbers
from tests.soak.order import Order

NUMBERS = Numbers(prompt=20, cached=5, generated=10, drafted=8, accepted=4, histogram=(0, 0, 2))
READING = Reading(
    generated=10,
    prompt=20,
    cached_prompt=5,
    drafted=8,
    accepted=4,
    rounds=2,
    accepted_per_position=(2, 2, 0, 0),
    inconsistencies=(Inconsistency.NEGATIVE,),
)


def metered(change: Callable[[Meter], None] = lambda _: None) -> Metrics:
    """The page after one of everything, and after a change."""
    registry = CollectorRegistry()
    meter = Meter(registry, position_limit=16)
    meter.count_request("llama", CHAT, 200)
    meter.count_client_left("llama", CHAT)
    meter.count_failure("llama", "broken_off")
    meter.count_unread("llama", Unread.CUT_SHORT)
    meter.count(completion())
    change(meter)
    return Metrics(generate_latest(registry))


def completion(**more: object) -> Completion:
    fields = {
        "upstream": "llama",
        "endpoint": CHAT,
        "model_name": "llama-a",
        "reading": READING,
        "streamed": True,
        "time_to_first_token": None,
        "duration": None,
        "finished_at": 0.0,
    }
    return Completion(**fields | more)  # type: ignore[arg-type]


def ledger_of(metrics: Metrics) -> Ledger:
    """A ledger that expects exactly this page."""
    ledger = Ledger()
    ledger.expected = counted(metrics)
    return ledger


def test_what_is_right_does_not_differ() -> None:
    """A page on which everything is as expected has no difference, and no family is missing."""
    page = metered()
    assert differences(ledger_of(page).expected, Counter(), counted(page)) == []
    assert {family for family, _ in counted(page)} == set(COMPARED)


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize("family", COMPARED)
def test_a_count_that_is_off_is_seen(family: str, by: int) -> None:
    """One too many or too few in any series is told, with the series and both numbers."""
    page = metered()
    ledger = ledger_of(page)
    series = next(one for one in ledger.expected if one[0] == family and ledger.expected[one])
    ledger.expected[series] += by
    (line,) = differences(ledger.expected, Counter(), counted(page))
    value = counted(page)[series]
    assert line.startswith(family)
    assert line.endswith(f"{value} counted, {value + by} expected")


def test_a_series_nobody_expects_is_seen() -> None:
    """What was counted without a client that saw it is told too."""
    expected = ledger_of(metered()).expected
    page = metered(lambda meter: meter.count_request("none", "other", 418))
    (line,) = differences(expected, Counter(), counted(page))
    assert 'code="418"' in line
    assert "1 counted, 0 expected" in line


def test_what_was_counted_before_is_left_out() -> None:
    """Only what was counted during the run is compared."""
    before = counted(metered())
    after = counted(metered(lambda meter: meter.count_request("llama", CHAT, 200)))
    ledger = Ledger()
    ledger.add("requests_total", {"upstream": "llama", "endpoint": CHAT, "code": "200"})
    assert differences(ledger.expected, before, after) == []


def order(**more: object) -> Order:
    fields = {"number": 7, "server": "llama", "model": "llama-a", "numbers": NUMBERS}
    return Order(**fields | more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of", "seen", "problem"),
    [
        (order(), Seen(status=200, body=b"{}", complete=True, checksum="0"), "bytes came"),
        (order(), Seen(status=500, complete=True), "status 500 instead of 200"),
        (order(), Seen(status=200), "broke off"),
        (order(), Seen(), "without an answer"),
        (order(), Seen(status=502, error="protocol", body=b"{}"), "cut off"),
        (order(flaw="garbage"), Seen(status=200, complete=True), "came whole"),
        (order(ending="hang", stop="head"), Seen(left=True, body=b"x"), "not the 0 sent"),
    ],
)
def test_what_a_client_must_not_see_is_told(of: Order, seen: Seen, problem: str) -> None:
    """An answer that is not what was ordered is a problem, whatever was counted."""
    assert any(problem in one for one in judge(of, seen, Ledger()))
