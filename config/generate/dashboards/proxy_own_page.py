"""The row of the proxy's dashboard on what the servers count themselves."""

from __future__ import annotations

from config.generate.dashboards.panel import Panel, Target
from config.generate.dashboards.queries import BY_MODEL, NAME, gauge, per, rate, server_rate
from specmeter.meter import families


def own_page() -> tuple[Panel, ...]:
    """Return the panels of vLLM's speculative decoding dashboard, for every kind of server."""
    drafted = server_rate(families.UPSTREAM_DRAFT_TOKENS)
    accepted = server_rate(families.UPSTREAM_ACCEPTED_TOKENS)
    drafts = server_rate(families.UPSTREAM_DRAFTS)
    generated = server_rate(families.UPSTREAM_GENERATED_TOKENS)
    at_position = server_rate(families.UPSTREAM_ACCEPTED_PER_POSITION, f"{BY_MODEL}, position")
    whole = "The whole server's, from its own page (scrape = true). "
    return (
        Panel(
            kind="timeseries",
            title="Acceptance (accepted / drafted tokens)",
            description=whole
            + "If it differs from the proxy's, other traffic goes past the proxy. Low: shorter "
            "drafts, or another drafter.",
            unit="percentunit",
            minimum=0,
            maximum=1,
            targets=[Target(expr=per(accepted, drafted), legend=NAME)],
            no_value="not scraped",
        ),
        Panel(
            kind="timeseries",
            title="Mean acceptance length (1 + accepted tokens / rounds with a draft)",
            description=whole
            + "At most the draft length + 1. Near 1, drafts bring nothing: see acceptance by "
            "position.",
            unit="none",
            decimals=2,
            minimum=1,
            targets=[Target(expr=f"1 + {per(accepted, drafts)}", legend=NAME)],
            no_value="not scraped",
        ),
        Panel(
            kind="timeseries",
            title="Acceptance by position (accepted at it / rounds with a draft)",
            description=whole
            + "It falls from position to position. Lines near 0 are positions not worth drafting.",
            unit="percentunit",
            minimum=0,
            maximum=1,
            targets=[
                Target(
                    expr=f"{at_position} / on ({BY_MODEL}) group_left () ({drafts} > 0)",
                    legend=f"{NAME}: {{{{position}}}}",
                )
            ],
            no_value="not reported",
        ),
        Panel(
            kind="timeseries",
            title="Drafted, accepted and rejected (tokens / second)",
            description=whole
            + "Rejected tokens are wasted work of the drafter and the target: more of them than "
            "accepted ones asks for shorter drafts.",
            unit="cps",
            targets=[
                Target(expr=drafted, legend=f"{NAME}: drafted"),
                Target(expr=accepted, legend=f"{NAME}: accepted"),
                Target(expr=f"{drafted} - {accepted}", legend=f"{NAME}: rejected"),
            ],
            no_value="not scraped",
        ),
        Panel(
            kind="timeseries",
            title="Rounds with a draft (rounds / second)",
            description=whole + "0 under traffic: drafting has stopped.",
            unit="cps",
            targets=[
                Target(expr=drafts, legend=NAME),
                Target(
                    expr=server_rate(families.UPSTREAM_VERIFY_CALLS),
                    legend=f"{NAME}: verify calls (SGLang)",
                ),
            ],
            no_value="not scraped",
        ),
        Panel(
            kind="timeseries",
            title="Output from drafts (accepted / generated tokens)",
            description=whole
            + "The share of the output that came from drafts. Near 0, speculation does nothing but "
            "cost.",
            unit="percentunit",
            minimum=0,
            maximum=1,
            targets=[Target(expr=per(accepted, generated), legend=NAME)],
            no_value="not scraped",
        ),
        Panel(
            kind="timeseries",
            title="Seen by the proxy (metered / the server's generated tokens)",
            description=(
                "Below 1, clients go past the proxy, or leave before the end. Above 1 only for a "
                "moment, as the two are read at different times."
            ),
            unit="percentunit",
            minimum=0,
            interval="2m",
            targets=[
                Target(
                    expr=per(
                        f"sum by (upstream) ({rate(families.GENERATED_TOKENS)})",
                        f"sum by (upstream) ({generated})",
                    ),
                    legend="{{upstream}}",
                )
            ],
            no_value="not scraped",
        ),
        Panel(
            kind="timeseries",
            title="Prompt and generated tokens (tokens / second)",
            description=whole
            + "What the server reads and writes. Compare with what it did before.",
            unit="cps",
            targets=[
                Target(expr=generated, legend=f"{NAME}: generated"),
                Target(expr=server_rate(families.UPSTREAM_PROMPT_TOKENS), legend=f"{NAME}: prompt"),
            ],
            no_value="not scraped",
        ),
        Panel(
            kind="timeseries",
            title="Requests under way (requests)",
            description=whole
            + "Speculation pays least when it is high: see the speedup by requests in flight on "
            "“Why?”.",
            unit="none",
            minimum=0,
            targets=[Target(expr=gauge(families.UPSTREAM_RUNNING, BY_MODEL), legend=NAME)],
            no_value="not scraped",
        ),
    )
