"""The alert works: real servers, the real proxy, Prometheus, Alertmanager, and a webhook."""

import re

from config.generate.files import REPOSITORY
from tests.watch.conftest import SLOWER, Run
from tests.watch.stack import GONE, MAIN, NGRAM


def test_slow_speculation_is_reported_with_the_right_numbers(run: Run) -> None:
    """The webhook gets the speedup that the servers' own clocks give, its interval and baseline."""
    assert run.fired
    alert = run.webhook.seen(SLOWER, "firing", upstream=MAIN)[0]
    assert alert["labels"]["severity"] == "warning"
    said = re.search(
        r"(\S+) on main decoded at (\S+)× the speed of plain decoding in the last hour, "  # noqa: RUF001
        r"95 % interval (\S+) to (\S+)\. Baseline: shadow \(100% of the time\)\. "
        r"Acceptance (\S+)%, output per target step (\S+)\.",
        alert["annotations"]["description"],
    )
    assert said is not None, alert["annotations"]["description"]
    speedup, low, high, acceptance, per_step = map(float, said.groups()[1:])
    assert low < speedup < high < 1
    readings = [one.reading for one in run.slow]
    seconds = sum(one.decode_seconds or 0 for one in readings)
    tokens = sum(one.decoded or 0 for one in readings)
    # The plain server counts the first token of each answer too, which comes from the prompt.
    plain_seconds, plain_tokens = run.replays
    plain_per_token = plain_seconds / (plain_tokens - len(run.slow))
    assert 0.7 < speedup / (plain_per_token * tokens / seconds) < 1.4
    accepted = sum(one.accepted or 0 for one in readings)
    assert abs(acceptance / 100 - accepted / sum(one.drafted or 0 for one in readings)) < 0.05
    generated = sum(one.generated or 0 for one in readings)
    steps = sum(one.target_steps or 0 for one in readings)
    assert abs(per_step / (generated / steps) - 1) < 0.05


def test_the_alert_leads_to_help(run: Run) -> None:
    """To a section of the runbooks and to a dashboard, with the upstream chosen."""
    notes = run.webhook.seen(SLOWER, "firing", upstream=MAIN)[0]["annotations"]
    path, anchor = notes["runbook_url"].split("#")
    assert f"## {SLOWER}" in (REPOSITORY / path).read_text(encoding="utf-8")
    assert anchor == SLOWER.lower()
    assert "/d/specmeter-paying?var-upstream=main&var-model=" in notes["dashboard_url"]


def test_fast_speculation_is_not_reported(run: Run) -> None:
    """A drafter that pays, beside the slow one and judged by a holdout, raises no alert."""
    assert run.paid
    assert run.webhook.seen(SLOWER, "firing", upstream=NGRAM) == []
    pending = f'ALERTS{{alertname="{SLOWER}",upstream="{NGRAM}"}}'
    assert run.prometheus.query_range(pending, run.began, run.ended, 1) == []


def test_it_resolves_after_the_switch_to_a_better_drafter(run: Run) -> None:
    """The webhook is told, and Prometheus has no such alert left."""
    assert run.resolved
    assert [one for one in run.prometheus.alerts() if one["labels"]["alertname"] == SLOWER] == []


def test_a_server_that_is_gone_is_reported(run: Run) -> None:
    """As critical, and the others are not."""
    alerts = run.webhook.seen("SpeculationUpstreamDown", "firing")
    assert {one["labels"]["upstream"] for one in alerts} == {GONE}
    assert {one["labels"]["severity"] for one in alerts} == {"critical"}
