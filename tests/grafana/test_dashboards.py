"""Dashboards are complete and tidy: what Grafana's own linter asks for, and more."""

import json
import re
from itertools import combinations
from typing import Any

import promql_parser
import pytest

from specmeter.meter.families import FAMILIES
from tests.grafana.files import (
    DASHBOARD_FILES,
    Query,
    filled,
    load,
    names,
    panels,
    queries,
)
from tests.rules.test_rules import ALL_RULES, RECORDED

DASHBOARDS = [load(path.name) for path in DASHBOARD_FILES]
PANELS = [panel for dashboard in DASHBOARDS for panel in panels(dashboard)]
QUERIES = list(queries())

EXPORTED = {
    f"{family.full_name}{suffix}": family.kind
    for family in FAMILIES
    for suffix in (("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",))
}
PROCESS = {
    "specmeter_process_cpu_seconds_total": "counter",
    "specmeter_process_resident_memory_bytes": "gauge",
}

UNITS = {"none", "s", "percentunit", "reqps", "cps", "bytes"}
"""Known to Grafana, each of a meaning of its own."""

UNUSED = {
    "specmeter_baseline_seconds_per_token": "one for each stratum: for a look by hand",
    "specmeter_baseline_relative_error": "the same; panels show what it comes to in the speedup",
    "specmeter_request_speedup_ratio": "mostly noise for single requests; panels show the whole",
    "specmeter_slice_completions_total": "tells how rough a bar is: for a look by hand",
    "specmeter_slice_target_step_tokens_total": "panels show speedup and acceptance by slice",
    "specmeter_slice_target_steps_total": "the same",
    "specmeter_upstream_spec_decode_num_draft_tokens_per_pos_total": "of SGLang alone",
    "specmeter_worker_restarts_total": "with workers only; the log says why each one ended",
}
"""Families that neither a panel nor a rule asks for, and why."""


def each(items: list[Any], name: Any) -> pytest.MarkDecorator:
    """Test with each of some."""
    return pytest.mark.parametrize("one", items, ids=name)


by_title = each(
    PANELS, [f"{one['uid']}: {panel['title']}" for one in DASHBOARDS for panel in panels(one)]
)
by_query = each(QUERIES, str)
by_uid = each(DASHBOARDS, lambda dashboard: dashboard["uid"])


@each(DASHBOARD_FILES, lambda path: path.name)
def test_files_are_canonical(one: Any) -> None:
    """Sorted keys and two blanks, so that a difference is a difference."""
    text = one.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@by_uid
def test_dashboards_can_be_provisioned(one: Any) -> None:
    """A uid of their own, no id, a schema that Grafana 10 to 13 load, nothing to edit."""
    assert re.fullmatch(r"specmeter-[a-z]+", one["uid"])
    assert one["id"] is None
    assert one["schemaVersion"] == 41
    assert one["editable"] is False
    assert {"specmeter", "speculative-decoding"} <= set(one["tags"])
    assert "__inputs" not in one
    assert one["description"].endswith(".")


def test_uids_are_unique() -> None:
    """Three dashboards, three uids."""
    assert len({one["uid"] for one in DASHBOARDS}) == len(DASHBOARDS) == 3


@by_uid
def test_variables(one: Any) -> None:
    """Data source, job, instance, upstream and model, all of each at first."""
    first, *others = one["templating"]["list"]
    assert (first["name"], first["type"], first["query"]) == (
        *("datasource", "datasource"),
        "prometheus",
    )
    assert [other["name"] for other in others] == ["job", "instance", "upstream", "model"]
    for other in others:
        assert other["datasource"]["uid"] == "${datasource}"
        assert (other["multi"], other["includeAll"], other["allValue"]) == (True, True, ".+")
        assert other["refresh"] == 2  # when the time range changes
        assert names(other["definition"]) <= EXPORTED.keys()


@by_uid
def test_panels_have_numbers_and_places_of_their_own(one: Any) -> None:
    """Ids are unique, nothing overlaps, nothing sticks out, rows come in order."""
    ids = [panel["id"] for panel in one["panels"]]
    assert len(set(ids)) == len(ids)
    places = [panel["gridPos"] for panel in one["panels"]]
    for place in places:
        assert place["x"] >= 0
        assert place["x"] + place["w"] <= 24
    for a, b in combinations(places, 2):
        beside = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
        below = a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]
        assert beside or below, (a, b)


@by_title
def test_panels_say_what_they_show(one: Any) -> None:
    """Title, unit, data source, a query, and what a bad value means and what to do."""
    assert one["title"]
    assert len(one["description"]) > 60
    assert one["description"].endswith(".")
    assert one["fieldConfig"]["defaults"]["unit"] in UNITS
    assert one["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert one["targets"]
    letters = [target["refId"] for target in one["targets"]]
    assert len(set(letters)) == len(letters)
    for target in one["targets"]:
        assert target["datasource"] == one["datasource"]


@by_title
def test_ratios_name_their_denominator(one: Any) -> None:
    """A panel of shares has what is divided by what in its title."""
    if one["fieldConfig"]["defaults"]["unit"] == "percentunit":
        assert "/" in one["title"] or "share of" in one["title"] or "of its value" in one["title"]


def test_the_three_numbers_stand_side_by_side() -> None:
    """Each with its denominator."""
    row = [one for one in panels(load("is-it-paying.json")) if "/" in one["title"]]
    places = {one["title"]: one["gridPos"] for one in row}
    three = (
        "Acceptance (accepted / drafted tokens)",
        "Output per target step (generated tokens / all runs of the target)",
        "Mean acceptance length (1 + accepted tokens / rounds with a draft)",
    )
    assert [places[title]["x"] for title in three] == [0, 8, 16]
    assert len({places[title]["y"] for title in three}) == 1


@by_query
def test_queries_are_promql(one: Query) -> None:
    """They parse, with Grafana's variables filled in."""
    assert promql_parser.parse(one.filled("1m", "10m")) is not None


@by_query
def test_queries_ask_for_what_exists(one: Query) -> None:
    """Each name is exported by the proxy or recorded by a rule."""
    asked = names(one.target["expr"])
    assert asked or one.target["expr"].startswith("vector(")
    assert asked <= EXPORTED.keys() | PROCESS.keys() | RECORDED


@by_query
def test_queries_keep_to_what_is_chosen(one: Query) -> None:
    """Job and instance, upstream and model; what is recorded is of all instances."""
    selectors = re.findall(r"([\w:]*specmeter_[\w:]+)\{([^}]*)\}", one.target["expr"])
    assert len(selectors) == len(re.findall(r"[\w:]*specmeter_[\w:]+", one.target["expr"]))
    labels = {family.full_name: family.labels for family in FAMILIES}
    for name, selector in selectors:
        assert 'job=~"$job"' in selector
        base = re.sub("_(bucket|sum|count)$", "", name) if name not in labels else name
        if ":" not in name:
            assert 'instance=~"$instance"' in selector
        if ":" in name or "upstream" in labels.get(base, ()):
            assert 'upstream=~"$upstream"' in selector
        if name.startswith("model") or "model_name" in labels.get(base, ()):
            assert 'model_name=~"$model"' in selector


@by_query
def test_counters_are_never_drawn_raw(one: Query) -> None:
    """Rates look back $__rate_interval; what is of the whole time shown is asked for once."""
    expression = one.target["expr"]
    for function, name, window in re.findall(
        r"(rate|increase)\(([\w:]+)\{[^}]*\}\[([^\]]+)\]\)", expression
    ):
        assert (EXPORTED | PROCESS)[name] in {"counter", "histogram"}
        assert window == ("$__rate_interval" if function == "rate" else "$__range")
        assert function == "rate" or one.target["instant"]
    bare = re.sub(r"(rate|increase)\([^)]*\)", "", expression)
    for name in names(bare):
        assert (EXPORTED | PROCESS).get(name, "gauge") == "gauge", name


def test_every_family_is_shown_or_said_not_to_be() -> None:
    """No family is exported for nothing, and no excuse is outdated."""
    asked = set[str]()
    for query in QUERIES:
        asked |= names(query.target["expr"])
    for rule in ALL_RULES:
        asked |= names(rule["expr"])
    used = {re.sub("_(bucket|sum|count)$", "", name) for name in asked} | asked
    unused = {family.full_name for family in FAMILIES} - used
    assert unused == UNUSED.keys()


def test_every_ratio_that_is_recorded_is_shown_or_used() -> None:
    """A recorded series that nobody asks for would only take room."""
    shown = "\n".join(
        [query.target["expr"] for query in QUERIES]
        + [rule["expr"] + str(rule.get("annotations")) for rule in ALL_RULES]
    )
    stems = {re.sub(r"(5m|1h|1d|7d|30m)$", "", name) for name in RECORDED}
    assert {stem for stem in stems if stem not in shown} == set()


def test_annotations_parse() -> None:
    """Changes of a build and alerts are marked."""
    for one in DASHBOARDS:
        marks = {mark["name"]: mark for mark in one["annotations"]["list"]}
        for name in ("Another build of a server", "Alerts"):
            assert promql_parser.parse(filled(marks[name]["expr"])) is not None
