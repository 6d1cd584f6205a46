"""Every query of every panel and rule on a real Prometheus, fed by the real proxy."""

import re
from itertools import groupby

import pytest

from specmeter.speedup.interval import Sums, speedup
from tests.grafana.files import DASHBOARD_FILES, Query, filled, load, queries
from tests.programs import run as run_program
from tests.rules.test_rules import ALL_RULES
from tests.watch.conftest import Run
from tests.watch.stack import MAIN, NGRAM

EMPTY = {
    "the-proxy-itself: Rounds with a draft (rounds / second) B": "verify calls are SGLang's",
    "why: Speedup to expect by draft length (×, an estimate) A": (  # noqa: RUF001
        "neither llama.cpp's answers nor its log say which position was accepted"
    ),
    "why: Acceptance by position (accepted at it / rounds with a draft) A": "the same",
}
"""Queries that give nothing in this run, and why."""


def _gives(run: Run, query: Query) -> bool:
    """Whether a query gives a number that can be drawn."""
    expression = query.filled("15s", f"{run.ended - run.began + 10:.0f}s")
    if query.target["instant"]:
        answers = run.prometheus.query(expression, run.ended)
    else:
        answers = run.prometheus.query_range(expression, run.began, run.ended, 5)
    return any(answer.is_finite for answer in answers)


def _bars(query: Query) -> str:
    """Name the panel of bars that are the same query for one bucket each."""
    return re.sub(r'bucket="[^"]+"', 'bucket="…"', query.target["expr"])


PANEL_QUERIES = [
    list(same) for _, same in groupby(queries(), key=lambda query: (query.dashboard, _bars(query)))
]


@pytest.mark.parametrize("same", PANEL_QUERIES, ids=lambda same: str(same[0]))
def test_panels_have_data(run: Run, same: list[Query]) -> None:
    """Finite, and of bars for one bucket each at least one; empty ones have their reason."""
    gives = any(_gives(run, query) for query in same)
    assert gives is (str(same[0]) not in EMPTY)


def test_excuses_are_for_panels_that_exist() -> None:
    """No excuse is outdated."""
    assert {str(query) for query in queries()} >= EMPTY.keys()


def test_rules_have_been_evaluated_without_a_fault(run: Run) -> None:
    """All of them, by Prometheus itself."""
    rules = run.prometheus.rules()
    assert len(rules) == len(ALL_RULES)
    assert {rule["health"] for rule in rules} == {"ok"}


RECORDING = [rule["record"] for rule in ALL_RULES if "record" in rule]


@pytest.mark.parametrize("name", RECORDING)
def test_rules_record_numbers(run: Run, name: str) -> None:
    """Finite ones, all of them."""
    answers = run.prometheus.query_range(name, run.began, run.ended, 5)
    assert any(answer.is_finite for answer in answers)


ALERTS = [rule for rule in ALL_RULES if "alert" in rule]


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_what_alerts_compare_is_there(run: Run, rule: dict[str, str]) -> None:
    """Each series on which an alert rests has data, so that it can fire at all."""
    for name in re.findall(r"(?<![\w:])(?:\w+:)?specmeter_\w+(?::\w+)?", rule["expr"]):
        answers = run.prometheus.query_range(name, run.began, run.ended, 5)
        assert any(answer.is_finite for answer in answers), name


@pytest.mark.parametrize("upstream", [MAIN, NGRAM])
def test_the_recorded_interval_is_that_of_the_proxy(run: Run, upstream: str) -> None:
    """From the same sums, PromQL and Python give the same ratio and interval."""
    moment = run.ended - 1

    def recorded(name: str) -> float:
        (answer,) = run.prometheus.query(f'model:specmeter_{name}{{upstream="{upstream}"}}', moment)
        return answer.last

    sums = Sums(
        count=1,
        spent=recorded("compared_decode_seconds:increase1h"),
        plain=recorded("plain_decode_seconds:increase1h"),
        spent_squared=recorded("decode_seconds_squared:increase1h"),
        plain_squared=recorded("plain_decode_seconds_squared:increase1h"),
        cross=recorded("decode_seconds_cross:increase1h"),
        doubt=recorded("plain_decode_doubt_seconds:increase1h"),
    )
    found = speedup(sums)
    assert found is not None
    assert found.interval is not None
    assert recorded("speedup:ratio_rate1h") == pytest.approx(found.ratio)
    assert recorded("speedup_low:ratio_rate1h") == pytest.approx(found.interval.low)
    assert recorded("speedup_high:ratio_rate1h") == pytest.approx(found.interval.high)


def test_variables_find_their_values(run: Run) -> None:
    """Job, instance, upstream and model can be chosen."""
    for path in DASHBOARD_FILES:
        for variable in load(path.name)["templating"]["list"][1:]:
            asked = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["definition"])
            assert asked is not None
            answers = run.prometheus.query(filled(asked[1]), run.ended)
            assert {answer.labels[asked[2]] for answer in answers}


def test_annotations_can_be_asked(run: Run) -> None:
    """The alert is marked; a new build is marked when it is first seen."""
    for path in DASHBOARD_FILES:
        for mark in load(path.name)["annotations"]["list"]:
            if "expr" in mark:
                found = run.prometheus.query_range(filled(mark["expr"]), run.began, run.ended, 5)
                assert found, mark["name"]


@pytest.mark.parametrize("proxy", [MAIN, NGRAM])
def test_promtool_has_nothing_to_say_about_the_page(run: Run, proxy: str) -> None:
    """With baselines, slices and costs on it."""
    code, said = run_program("promtool", "check", "metrics", stdin=run.pages[proxy])
    assert (code, said) == (0, "")
    assert "specmeter_slice_plain_decode_seconds_total{" in run.pages[proxy]
