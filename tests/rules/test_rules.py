"""Rules and configurations of Prometheus and Alertmanager."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.generate.files import REPOSITORY, THRESHOLDS, generated_files
from config.generate.thresholds import parse
from specmeter.meter.families import FAMILIES
from tests.programs import run

RULES = REPOSITORY / "config" / "prometheus" / "rules"
RULE_FILES = sorted(RULES.glob("*.yml"))
UNIT_TESTS = sorted(Path(__file__).parent.glob("*.test.yml"))
DOCUMENTS = {path: yaml.safe_load(path.read_text(encoding="utf-8")) for path in RULE_FILES}
ALL_RULES: list[dict[str, Any]] = [
    rule
    for document in DOCUMENTS.values()
    for group in document["groups"]
    for rule in group["rules"]
]
ALERTS = {rule["alert"]: rule for rule in ALL_RULES if "alert" in rule}
RECORDED = {rule["record"] for rule in ALL_RULES if "record" in rule}

WANTED = {
    *("SpeculationSlowerThanPlain", "SpeculationNotPaying", "SpeculationStoppedDrafting"),
    *("SpeculationAcceptanceCollapsed", "SpeculationInconsistentNumbers", "SpeculationMeterBlind"),
    *("SpeculationBaselineStale", "SpeculationOutputsDiverge"),
    *("SpeculationUpstreamDown", "SpeculationProxyDown"),
}


@pytest.mark.parametrize("path", generated_files(), ids=lambda path: path.name)
def test_generated_files_are_current(path: Path) -> None:
    """What is committed is what the sources say; `make generate` writes it anew."""
    assert path.read_text(encoding="utf-8") == generated_files()[path]


def test_promtool_has_nothing_to_say_about_the_rules() -> None:
    """Neither an error nor a lint."""
    code, said = run("promtool", "check", "rules", "--lint=all", "--lint-fatal", *RULE_FILES)
    assert code == 0, said
    assert said.count("SUCCESS") == len(RULE_FILES) == 2


def test_promtool_accepts_the_configuration() -> None:
    """With the rules it names."""
    code, said = run("promtool", "check", "config", "config/prometheus/prometheus.yml")
    assert code == 0, said
    assert "2 rule files found" in said


def test_amtool_accepts_the_configuration() -> None:
    """Alertmanager would start with it."""
    code, said = run("amtool", "check-config", "config/alertmanager/alertmanager.yml")
    assert code == 0, said


@pytest.mark.parametrize("path", UNIT_TESTS, ids=lambda path: path.name)
def test_rules_do_what_their_unit_tests_say(path: Path) -> None:
    """Firing, pending, not firing, idle traffic, counter resets, several replicas."""
    code, said = run("promtool", "test", "rules", path)
    assert code == 0, said


def test_every_alert_that_was_promised_is_there_and_tested() -> None:
    """Each has unit tests in which it fires and is pending."""
    assert ALERTS.keys() == WANTED
    tests = "\n".join(path.read_text(encoding="utf-8") for path in UNIT_TESTS)
    for alert in ALERTS:
        assert re.search(rf"alertname: {alert}\n", tests), alert
        assert re.search(rf'alertname="{alert}"', tests), alert


@pytest.mark.parametrize("rule", ALERTS.values(), ids=lambda rule: rule["alert"])
def test_alerts_are_complete(rule: dict[str, Any]) -> None:
    """Severity, a full sentence, numbers, a runbook section and a dashboard that exist."""
    assert rule["labels"] == {"severity": rule["labels"]["severity"]}
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert "for" in rule
    notes = rule["annotations"]
    assert notes.keys() == {"summary", "description", "runbook_url", "dashboard_url"}
    assert re.fullmatch(r"[A-Z][^{]+\.", notes["summary"])
    assert "{{" in notes["description"]
    runbooks, anchor = notes["runbook_url"].split("#")
    headings = re.findall(r"^## (\w+)$", (REPOSITORY / runbooks).read_text(), re.MULTILINE)
    assert anchor in {heading.lower() for heading in headings}
    assert rule["alert"].lower() == anchor
    uid = re.search(r"/d/([\w-]+)", notes["dashboard_url"])
    assert uid is not None
    dashboards = (REPOSITORY / "grafana" / "dashboards").glob("*.json")
    assert any(f'"uid": "{uid[1]}"' in path.read_text() for path in dashboards)


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.get("record", rule.get("alert")))
def test_rules_ask_for_what_exists_and_add_replicas_up(rule: dict[str, Any]) -> None:
    """Each family is exported or recorded; a sum over replicas keeps the job."""
    expression = rule["expr"]
    recorded = set(re.findall(r"\w+:\w+:\w+", expression))
    assert recorded <= RECORDED
    exported = {family.full_name for family in FAMILIES}
    raw = set(re.findall(r"(?<![\w:])specmeter_\w+", expression))
    assert raw <= exported
    assert " by (" not in expression
    if raw:
        assert "without (instance" in expression
    if "record" in rule:
        assert re.fullmatch(r"(model|model_baseline|upstream):\w+:\w+", rule["record"])


def test_what_is_recorded_is_explained() -> None:
    """docs/metrics.md has each recorded series once, and no other."""
    text = (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8")
    table = text.split("<!-- recorded -->")[1]
    named = re.findall(r"\w+:specmeter_\w+:\w+(?=W`)", table)
    assert len(named) == len(set(named))
    assert set(named) == {re.sub("(5m|1h|1d|7d|30m)$", "", name) for name in RECORDED}


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('slower_for = "10m"', 'slower_for = "ten"', "at `$.slower_for`"),
        ("metered_share = 0.9", "metered_shar = 0.9", "unknown field `metered_shar`"),
        ("metered_share = 0.9", "metered_share = 90", "<= 1.0 - at `$.metered_share`"),
        ("metered_share = 0.9", "", "missing required field `metered_share`"),
        ("baseline_days = 30", "baseline_days = 0.5", "got `float` - at `$.baseline_days`"),
        ("speedup_floor = 1.0", "speedup_floor = -1", "> 0.0 - at `$.speedup_floor`"),
        ('proxy_job = "specmeter"', "proxy_job = 'a\"b'", "at `$.proxy_job`"),
        ('proxy_job = "specmeter"', "proxy_job = specmeter", "Invalid value"),
    ],
)
def test_bad_thresholds_are_named(old: str, new: str, complaint: str) -> None:
    """The complaint has the threshold and its value."""
    text = THRESHOLDS.read_text(encoding="utf-8")
    assert text.count(old) == 1
    with pytest.raises(ValueError, match=re.escape(complaint)):
        parse(text.replace(old, new))
