"""The rows of the proxy's dashboard on the servers behind it, and on the plain ones."""

from __future__ import annotations

from config.generate.dashboards.panel import BLUE, GREEN, RED, YELLOW, Panel, Target
from config.generate.dashboards.queries import BY_MODEL, NAME, gauge, per, rate, total
from config.generate.thresholds import Thresholds
from specmeter.meter import families
from specmeter.upstream.drafting import Drafting

_STATES = (
    *(Drafting.UNKNOWN, Drafting.OFF, Drafting.CONFIGURED),
    *(Drafting.NO_CANDIDATE, Drafting.DRAFTING),
)


def _state(state: Drafting) -> str:
    return f'state="{state}"'


def servers() -> tuple[Panel, ...]:
    """Return the panels that tell whether the servers are there."""
    return (
        Panel(
            kind="state-timeline",
            title="Upstreams (up or down)",
            description=(
                "Whether each upstream answered /v1/models when it was last asked. DOWN: its "
                "clients get 502; see its log."
            ),
            unit="none",
            height=6,
            targets=[
                Target(
                    expr=gauge(families.UPSTREAM_UP, "upstream", how="min"), legend="{{upstream}}"
                )
            ],
            texts=((0, "DOWN", RED), (1, "UP", GREEN)),
        ),
        Panel(
            kind="state-timeline",
            title="Is speculation on? (state of each upstream)",
            description=(
                "DRAFTING: one of the last completions had a draft. NO CANDIDATE: on, and yet "
                "nothing was drafted lately; see the runbook of SpeculationStoppedDrafting. "
                "CONFIGURED: on, not seen yet. OFF: the server says so. UNKNOWN: nothing tells."
            ),
            unit="none",
            height=6,
            targets=[
                Target(
                    expr=" or ".join(
                        f"({gauge(families.UPSTREAM_SPECULATION, 'upstream', _state(state))} == 1)"
                        f" * {number}"
                        for number, state in enumerate(_STATES)
                    ),
                    legend="{{upstream}}",
                )
            ],
            texts=(
                (0, "UNKNOWN", "gray"),
                (1, "OFF", BLUE),
                (2, "CONFIGURED", YELLOW),
                (3, "NO CANDIDATE", RED),
                (4, "DRAFTING", GREEN),
            ),
        ),
        Panel(
            kind="stat",
            title="Time since something was last drafted (seconds)",
            description=(
                "Grows while nobody asks, too. If it grows under traffic, drafting has stopped: "
                "see the runbook of SpeculationStoppedDrafting. Absent before the first draft."
            ),
            unit="s",
            height=6,
            decimals=0,
            targets=[
                Target(
                    expr=f"time() - {gauge(families.LAST_DRAFTED, BY_MODEL)}",
                    legend=NAME,
                    instant=True,
                )
            ],
            no_value="never yet",
        ),
        Panel(
            kind="table",
            title="What is known of the upstreams (1 = so it is now)",
            description=(
                "Kind, build and drafting method. A wrong kind is set right with backend, the "
                "method is what the option method says. Two builds of one upstream: an upgrade is "
                "under way."
            ),
            unit="none",
            width=12,
            height=6,
            columns=("known",),
            targets=[
                Target(
                    expr=gauge(families.UPSTREAM_INFO, "upstream, backend, build, method"),
                    legend="",
                    instant=True,
                )
            ],
        ),
        Panel(
            kind="stat",
            title="Since the server's own page was read (seconds)",
            description=(
                "Beyond a few minutes the row below is outdated: see the failures beside. Absent "
                "without scrape = true."
            ),
            unit="s",
            width=6,
            height=6,
            decimals=0,
            targets=[
                Target(
                    expr=f"time() - {gauge(families.UPSTREAM_SCRAPE_TIME, 'upstream')}",
                    legend="{{upstream}}",
                    instant=True,
                )
            ],
            steps=((None, GREEN), (120, RED)),
            no_value="not scraped",
        ),
        Panel(
            kind="timeseries",
            title="Failures to read the server's own page (attempts / second)",
            description=(
                "Above 0: the server has no such page (llama-server needs --metrics), needs a key "
                "(api_key_file), or is down."
            ),
            unit="cps",
            width=6,
            height=6,
            targets=[
                Target(
                    expr=rate(families.UPSTREAM_SCRAPE_FAILURES, "reason"),
                    legend="{{reason}}",
                )
            ],
            no_value="not scraped",
        ),
    )


def plain_traffic(thresholds: Thresholds) -> tuple[Panel, ...]:
    """Return the panels of holdout and shadow."""
    diverged = total(families.OUTPUT_CHECKS, more='result="diverged"')
    return (
        Panel(
            kind="timeseries",
            title="Held-out requests by result (requests / second)",
            description=(
                "answered: by the plain upstream, which is what the baseline learns from. "
                "fell_back: it was not there in time, and the request was served with speculation "
                "after all; if that is the rule, see to the plain upstream."
            ),
            unit="reqps",
            width=6,
            targets=[
                Target(
                    expr=rate(families.HOLDOUT_REQUESTS, "upstream, result"),
                    legend="{{upstream}} {{result}}",
                )
            ],
            no_value="holdout = 0",
        ),
        Panel(
            kind="timeseries",
            title="Replays by result (requests / second)",
            description=(
                "done: replayed without speculation, which is what the baseline learns from. "
                "skipped and abandoned: live traffic left no room; raise shadow_in_flight if the "
                "plain server has hardware of its own. failed: see to the plain upstream."
            ),
            unit="reqps",
            width=6,
            targets=[
                Target(
                    expr=rate(families.SHADOW_REPLAYS, "upstream, result"),
                    legend="{{upstream}} {{result}}",
                )
            ],
            no_value="shadow = 0",
        ),
        Panel(
            kind="stat",
            title="Answers that came out otherwise (diverged / replayed greedy answers)",
            description=(
                "Over the time shown. Speculation ought not to change greedy answers, beyond what "
                f"rounding does. Red above {thresholds.diverged_share:.0%}: see the runbook of "
                "SpeculationOutputsDiverge."
            ),
            unit="percentunit",
            width=6,
            decimals=1,
            targets=[
                Target(
                    expr=per(diverged, total(families.OUTPUT_CHECKS)),
                    legend=NAME,
                    instant=True,
                )
            ],
            steps=((None, GREEN), (thresholds.diverged_share, RED)),
            no_value="none replayed",
        ),
        Panel(
            kind="bargauge",
            title="Where outputs part (diverged answers / bucket of characters before)",
            description=(
                "How far diverging answers are the same, up to the number on the left. All early: "
                "the drafter changes what is sampled, which is a fault. Late and rare: rounding."
            ),
            unit="none",
            width=6,
            decimals=0,
            targets=[
                Target(
                    expr=total(families.FIRST_DIFFERENCE, "le", suffix="_bucket"),
                    legend="{{le}}",
                    instant=True,
                    buckets=True,
                )
            ],
            no_value="none replayed",
        ),
    )
