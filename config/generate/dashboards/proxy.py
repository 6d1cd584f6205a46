"""The proxy itself: what passes, what it cannot read, what it costs, what the servers count."""

from __future__ import annotations

from config.generate.dashboards.dashboard import Dashboard, Row
from config.generate.dashboards.panel import GREEN, RED, Panel, Target
from config.generate.dashboards.proxy_own_page import own_page
from config.generate.dashboards.proxy_servers import plain_traffic, servers
from config.generate.dashboards.queries import (
    NAME,
    per,
    quantile,
    rate,
    recorded_upstream,
    selector,
)
from config.generate.thresholds import Thresholds
from specmeter.meter import families
from specmeter.meter.families import Family

_QUANTILES = (0.5, 0.95)


def proxy(thresholds: Thresholds) -> Dashboard:
    """Return the dashboard."""
    return Dashboard(
        uid="specmeter-proxy",
        title="Speculation: the proxy itself",
        description="What passes through specmeter, what it cannot read, and what the servers say.",
        rows=(
            Row("What passes?", _traffic()),
            Row("How long does it take?", _times()),
            Row("Can the numbers be trusted?", _trust(thresholds)),
            Row("Are the servers there?", servers()),
            Row("What is done for the baseline?", plain_traffic(thresholds)),
            Row("The server's own count: all its traffic, also past the proxy", own_page()),
            Row("What does the proxy use?", _process()),
        ),
    )


def _traffic() -> tuple[Panel, ...]:
    failed = rate(families.REQUESTS, "upstream", 'code=~"5.."')
    return (
        Panel(
            kind="timeseries",
            title="Requests by HTTP status (requests / second)",
            description=(
                "What clients got; 499 left before. 5xx are the server's or the proxy's failures: "
                "see the reasons beside. 404 for completions is a model that no upstream has."
            ),
            unit="reqps",
            stacked=True,
            targets=[Target(expr=rate(families.REQUESTS, "code"), legend="{{code}}")],
        ),
        Panel(
            kind="timeseries",
            title="Failed requests (5xx / all requests)",
            description=(
                "Above 0, clients get errors. Compare with the servers' own logs at that time; a "
                "server that restarts shows as a short peak."
            ),
            unit="percentunit",
            minimum=0,
            targets=[
                Target(expr=per(failed, rate(families.REQUESTS, "upstream")), legend="{{upstream}}")
            ],
        ),
        Panel(
            kind="timeseries",
            title="Failures of upstreams by reason (requests / second)",
            description=(
                "cannot_connect: it is down or elsewhere. connect_timeout: raise connect_seconds, "
                "or see its network. out_of_files: raise specmeter's limit of open files. "
                "closed_early: a kept connection died; lower keepalive_seconds. broken_off: it "
                "crashed in the middle of an answer. silent: idle_seconds ran out."
            ),
            unit="reqps",
            targets=[
                Target(
                    expr=rate(families.UPSTREAM_FAILURES, "reason"),
                    legend="{{reason}}",
                )
            ],
        ),
        Panel(
            kind="timeseries",
            title="Clients that left before the end (requests / second)",
            description=(
                "Normal for editors that complete while you type. Elsewhere a sign of answers that "
                "take too long, or of a timeout in the client. With meter_cancelled = true they "
                "are metered up to there."
            ),
            unit="reqps",
            targets=[
                Target(
                    expr=rate(families.CLIENT_LEFT, "endpoint"),
                    legend="{{endpoint}}",
                )
            ],
        ),
        Panel(
            kind="timeseries",
            title="Generated tokens (tokens / second, all requests together)",
            description=(
                "What the servers brought in total. With speculation on under load, this is what "
                "may fall although single requests look fast."
            ),
            unit="cps",
            stacked=True,
            targets=[Target(expr=rate(families.GENERATED_TOKENS), legend=NAME)],
        ),
        Panel(
            kind="timeseries",
            title="Prompt tokens found in the cache (cached / prompt tokens)",
            description=(
                "How much of the prompts the server did not have to read again. A drop after "
                "switching speculation on, or with holdout, costs time before the first token: "
                "set holdout_header so that conversations stay with one server."
            ),
            unit="percentunit",
            minimum=0,
            maximum=1,
            targets=[
                Target(
                    expr=per(rate(families.CACHED_PROMPT_TOKENS), rate(families.PROMPT_TOKENS)),
                    legend=NAME,
                )
            ],
        ),
    )


def _quantiles(family: Family, by: str, name: str) -> list[Target]:
    return [
        Target(expr=quantile(share, family, by), legend=f"{name} p{share * 100:g}")
        for share in _QUANTILES
    ]


def _times() -> tuple[Panel, ...]:
    return (
        Panel(
            kind="timeseries",
            title="What the proxy adds before the first byte (seconds)",
            description=(
                "Some hundred microseconds. Beyond some milliseconds the machine is short of CPU "
                "time: give the proxy a core of its own, or run several."
            ),
            unit="s",
            width=6,
            targets=_quantiles(families.OVERHEAD, "upstream", "{{upstream}}"),
        ),
        Panel(
            kind="timeseries",
            title="Time to the first token (seconds from the request)",
            description=(
                "Of streamed requests, on the proxy's clock: waiting, reading the prompt, the "
                "first token. Speculation does not shorten it. If it rises when speculation is on, "
                "the drafter reads the prompt too, or its memory leaves fewer slots."
            ),
            unit="s",
            width=6,
            targets=_quantiles(families.FIRST_TOKEN, "upstream", "{{upstream}}"),
        ),
        Panel(
            kind="timeseries",
            title="Time per output token (decode seconds / decoded token)",
            description=(
                "Of single completions. A p95 far from the median is traffic of two kinds: see the "
                "speedups by context and load on “Why?”."
            ),
            unit="s",
            width=6,
            targets=_quantiles(families.PER_TOKEN, "upstream", "{{upstream}}"),
        ),
        Panel(
            kind="timeseries",
            title="Duration of a completion (seconds from request to end)",
            description=(
                "What a client waits in all. It depends on how much is asked, so compare it with "
                "itself only at the same traffic."
            ),
            unit="s",
            width=6,
            targets=_quantiles(families.DURATION, "upstream", "{{upstream}}"),
        ),
    )


def _trust(thresholds: Thresholds) -> tuple[Panel, ...]:
    return (
        Panel(
            kind="stat",
            title="Completions that report drafting (metered / all completions, last hour)",
            description=(
                "All other numbers are of these alone; of a server without speculation it does not "
                "matter. Below "
                f"{thresholds.metered_share:.0%} find out what is missing from the two panels "
                "beside, and what the server needs from the table in the README."
            ),
            unit="percentunit",
            decimals=1,
            targets=[
                Target(
                    expr=recorded_upstream("metered_answers", "1h"),
                    legend="{{upstream}}",
                    instant=True,
                )
            ],
            steps=((None, RED), (thresholds.metered_share, GREEN)),
        ),
        Panel(
            kind="timeseries",
            title="Completions that could not be read, by reason (completions / second)",
            description=(
                "no_numbers: the server told nothing; see what it needs in the README. too_large: "
                "raise event_bytes or body_bytes. cut_short, error_event: the server broke off. "
                "reader_failed: a fault of specmeter; its log has it. not_handed_over: its main "
                "process does not keep up with its workers."
            ),
            unit="cps",
            targets=[Target(expr=rate(families.UNREAD, "reason"), legend="{{reason}}")],
        ),
        Panel(
            kind="timeseries",
            title="Completions with a number that cannot be true (completions / second)",
            description=(
                "accepted_not_below_generated is a stop in the middle of a round: known, harmless. "
                "All others are faults of the server's counting, were left out, and should be "
                "reported to it, with its build."
            ),
            unit="cps",
            targets=[
                Target(
                    expr=rate(families.INCONSISTENT, "reason"),
                    legend="{{reason}}",
                )
            ],
        ),
    )


def _process() -> tuple[Panel, ...]:
    instance = 'job=~"$job",instance=~"$instance"'
    return (
        Panel(
            kind="timeseries",
            title="CPU time (seconds / second)",
            description=(
                "One process uses one core at most, so near 1 it is the bottleneck: raise "
                "workers, or run several. With workers it is the sum of all its processes."
            ),
            unit="percentunit",
            minimum=0,
            targets=[
                Target(
                    expr=(
                        "sum by (instance) (rate(specmeter_process_cpu_seconds_total"
                        f"{{{instance}}}[$__rate_interval]))"
                    ),
                    legend="{{instance}}",
                )
            ],
        ),
        Panel(
            kind="timeseries",
            title="Memory (resident bytes)",
            description=(
                "Grows with requests under way: some 40 kB for each stream, body_bytes at most for "
                "each other answer. If it grows without them, that is a fault to report."
            ),
            unit="bytes",
            minimum=0,
            targets=[
                Target(
                    expr=(
                        f"max by (instance) (specmeter_process_resident_memory_bytes{{{instance}}})"
                    ),
                    legend="{{instance}}",
                )
            ],
        ),
        Panel(
            kind="table",
            title="Proxies (1 = running now)",
            description=(
                "Version and Python of each. Different versions side by side mean that an upgrade "
                "is under way."
            ),
            unit="none",
            columns=("running",),
            targets=[
                Target(
                    expr=(
                        "max by (instance, version, python_version) "
                        f"({selector(families.BUILD_INFO)})"
                    ),
                    legend="",
                    instant=True,
                )
            ],
        ),
    )
