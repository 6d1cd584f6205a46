"""Why? What a step costs, what it brings back, and where that pays."""

from __future__ import annotations

from config.generate.dashboards.dashboard import Dashboard, Row
from config.generate.dashboards.panel import BLUE, GREEN, ORANGE, RED, Panel, Target
from config.generate.dashboards.queries import BY_MODEL, NAME, gauge, per, rate, recorded, total
from config.generate.thresholds import Thresholds
from specmeter.meter import families
from specmeter.speedup.strata import CONTEXT, IN_FLIGHT, OUTPUT

_ANY = 'baseline!="none"'


def why(thresholds: Thresholds) -> Dashboard:
    """Return the dashboard."""
    return Dashboard(
        uid="specmeter-why",
        title="Speculation: why?",
        description="What a run of the target costs, what it brings back, and when that pays.",
        rows=(
            Row("Does a step bring back what it costs?", _steps()),
            Row("Are the guesses any good?", _guesses()),
            Row("When does it pay? (over the time shown)", _slices(thresholds)),
            Row("Would shorter drafts pay more? How near is the limit?", _limits(thresholds)),
        ),
    )


def _steps() -> tuple[Panel, ...]:
    plain_per_token = per(
        rate(families.PLAIN_DECODE_SECONDS), rate(families.DECODE_TOKENS, more=_ANY)
    )
    per_step = per(rate(families.TARGET_STEP_TOKENS), rate(families.TARGET_STEPS))
    both = ("estimate", "low", "high")
    return (
        Panel(
            kind="timeseries",
            title="Time of a target step, and what it may take (seconds / run of the target)",
            description=(
                "The time that one run of the target took, and the break-even: output per step × "
                "plain seconds per token, the time at which it would be just as fast without "
                "speculation. Above its break-even, a step costs more than it brings back, however "
                "good acceptance is: draft less, or use a cheaper drafter. If it rises with "
                "acceptance unchanged, look for heat, load, or a new build (purple marks)."
            ),
            unit="s",
            width=12,
            minimum=0,
            interval="1m",
            targets=[
                Target(
                    expr=per(rate(families.TIMED_STEP_SECONDS), rate(families.TIMED_STEPS)),
                    legend=NAME,
                ),
                Target(expr=f"{per_step} * {plain_per_token}", legend=f"{NAME}: break-even"),
            ],
        ),
        Panel(
            kind="timeseries",
            title="Output per step against break-even (tokens / run of the target)",
            description=(
                "Solid: what a step brings back. The others: what it has to bring back at the "
                "present drafts, and the two ends of that estimate. With output below break-even "
                "even a better drafter may not help: compare how far apart they are."
            ),
            unit="none",
            width=12,
            decimals=2,
            minimum=0,
            interval="1m",
            targets=[
                Target(expr=per_step, legend=NAME),
                *(
                    Target(
                        expr=gauge(families.BREAK_EVEN, BY_MODEL, f'bound="{bound}"'),
                        legend=f"{NAME}: break-even, {bound}",
                    )
                    for bound in both
                ),
            ],
        ),
        *(
            Panel(
                kind="timeseries",
                title=title,
                description=f"{meaning} Fitted over recent completions, with the two ends of its "
                "95 % interval. Absent until twenty completions with drafts of different lengths "
                "have come.",
                unit="s",
                width=12,
                interval="1m",
                targets=[
                    Target(
                        expr=gauge(family, BY_MODEL, f'bound="{bound}"'),
                        legend=f"{NAME}: {bound}",
                    )
                    for bound in both
                ],
            )
            for family, title, meaning in (
                (
                    families.STEP_FIXED_SECONDS,
                    "Fixed cost of a step (seconds / run of the target)",
                    (
                        "What a run costs without a draft. High against a plain step, it is what "
                        "merely switching speculation on costs (no CUDA graphs, say): no draft "
                        "length mends it."
                    ),
                ),
                (
                    families.STEP_DRAFT_SECONDS,
                    "Cost of each drafted token (seconds / drafted token)",
                    (
                        "What guessing and verifying one more token adds to a run. High, it asks "
                        "for shorter drafts or a cheaper drafter."
                    ),
                ),
            )
        ),
    )


def _guesses() -> tuple[Panel, ...]:
    return (
        Panel(
            kind="bargauge",
            title="Acceptance by position (accepted at it / rounds with a draft)",
            description=(
                "How often the first, second, … token of a draft is accepted; a token counts only "
                "if all before it did. Bars that fall to nothing mark drafts that are too long: "
                "set their length to the last position worth having. A low first bar is a drafter "
                "that does not fit the model. Do not compare different draft lengths by it."
            ),
            unit="percentunit",
            minimum=0,
            maximum=1,
            targets=[
                Target(
                    expr=(
                        f"{total(families.ACCEPTED_PER_POSITION, f'{BY_MODEL}, position')}"
                        f" / on ({BY_MODEL}) group_left () ({total(families.DRAFTS)} > 0)"
                    ),
                    legend=f"{NAME}: {{{{position}}}}",
                    instant=True,
                )
            ],
            no_value="the server reports no positions",
        ),
        Panel(
            kind="bargauge",
            title="Acceptance of single requests (completions / bucket of accepted / drafted)",
            description=(
                "How many completions had which acceptance, up to the number on the left. Two "
                "humps are two kinds of traffic, or a slot or replica that drafts badly: tell them "
                "apart before tuning. Everything at 1 with repetitive answers may be a loop."
            ),
            unit="none",
            decimals=0,
            targets=[
                Target(
                    expr=total(families.REQUEST_ACCEPTANCE, "le", suffix="_bucket"),
                    legend="{{le}}",
                    instant=True,
                    buckets=True,
                )
            ],
        ),
        Panel(
            kind="bargauge",
            title="Output per step of single requests (completions / bucket of tokens / step)",
            description=(
                "How many completions brought how many tokens for each run of the target, up to "
                "the number on the left. All in the first bucket: nothing useful is drafted. A "
                "long tail to the right is repetitive traffic, which n-gram drafters like."
            ),
            unit="none",
            decimals=0,
            targets=[
                Target(
                    expr=total(families.REQUEST_PER_STEP, "le", suffix="_bucket"),
                    legend="{{le}}",
                    instant=True,
                    buckets=True,
                )
            ],
        ),
        Panel(
            kind="timeseries",
            title="Draft coverage (accepted / generated tokens)",
            description=(
                "The share of the output that came from drafts. 0 means that nothing is drafted, "
                "or nothing of it is right: see the next panel. It cannot be mixed up with "
                "acceptance, which is of guesses."
            ),
            unit="percentunit",
            minimum=0,
            maximum=1,
            targets=[Target(expr=recorded("draft_coverage"), legend=NAME)],
        ),
        Panel(
            kind="timeseries",
            title="Drafted tokens per step (drafted tokens / run of the target)",
            description=(
                "How much is guessed for each run. Far below the configured length, the drafter "
                "finds no candidates or gives up early; far above what is accepted, work is wasted."
            ),
            unit="none",
            decimals=2,
            minimum=0,
            interval="1m",
            targets=[
                Target(
                    expr=per(rate(families.DRAFT_TOKENS), rate(families.TARGET_STEPS)), legend=NAME
                )
            ],
        ),
        Panel(
            kind="timeseries",
            title="Completions by what was drafted (completions / second)",
            description=(
                "drafted, not_drafted (the server reports, and nothing was) and not_reported. Only "
                "not_drafted with speculation on: it has stopped working, or finds no candidates. "
                "not_reported is what this meter cannot see."
            ),
            unit="cps",
            stacked=True,
            interval="1m",
            targets=[
                Target(expr=rate(families.COMPLETIONS, "speculation"), legend="{{speculation}}")
            ],
        ),
    )


def _slices(thresholds: Thresholds) -> tuple[Panel, ...]:
    return (
        *(
            Panel(
                kind="bargauge",
                title=f"Speedup by {what} (× = plain / decode seconds)",
                description=(
                    f"{meaning} Red bars are where speculation slows answers down. {remedy} Bars "
                    "of few completions are rough, and those without a baseline are missing."
                ),
                unit="none",
                decimals=2,
                minimum=0,
                targets=[
                    Target(
                        expr=per(
                            f"sum ({_slice(families.SLICE_PLAIN_SECONDS, name, bucket)})",
                            f"sum ({_slice(families.SLICE_DECODE_SECONDS, name, bucket, _ANY)})",
                        ),
                        legend=bucket,
                        instant=True,
                    )
                    for bucket in axis.labels
                ],
                steps=((None, RED), (thresholds.speedup_floor, GREEN)),
            )
            for name, axis, what, meaning, remedy in (
                (
                    *("context", CONTEXT, "context length in tokens"),
                    "Drafters often get worse, and verifying dearer, the longer the context.",
                    "Limit speculation to shorter contexts, if the server can.",
                ),
                (
                    *("output", OUTPUT, "output length in tokens"),
                    "Short answers have few steps over which drafting could pay.",
                    "For short answers a cheaper drafter, or none, does.",
                ),
                (
                    *("in_flight", IN_FLIGHT, "requests in flight"),
                    "With many requests at a time verifying guesses takes time from the others.",
                    "Draft less above that load (vLLM: num_speculative_tokens_per_batch_size).",
                ),
            )
        ),
        Panel(
            kind="bargauge",
            title="Acceptance by context length in tokens (accepted / drafted tokens)",
            description=(
                "Whether guesses get worse as the context grows. If they do, the drafter's own "
                "window is too short, or it was not trained for that: look at where it falls."
            ),
            unit="percentunit",
            minimum=0,
            maximum=1,
            width=12,
            targets=[
                Target(
                    expr=per(
                        f"sum ({_slice(families.SLICE_ACCEPTED_TOKENS, 'context', bucket)})",
                        f"sum ({_slice(families.SLICE_DRAFT_TOKENS, 'context', bucket)})",
                    ),
                    legend=bucket,
                    instant=True,
                )
                for bucket in CONTEXT.labels
            ],
        ),
        Panel(
            kind="bargauge",
            title="Tokens per second by requests in flight (decoded tokens / decode seconds)",
            description=(
                "How fast one request's tokens come at which load. It falls with load anyway; with "
                "speculation it should not fall below plain decoding's: compare the speedups above."
            ),
            unit="none",
            decimals=1,
            minimum=0,
            width=12,
            targets=[
                Target(
                    expr=per(
                        f"sum ({_slice(families.SLICE_DECODE_TOKENS, 'in_flight', bucket)})",
                        f"sum ({_slice(families.SLICE_DECODE_SECONDS, 'in_flight', bucket)})",
                    ),
                    legend=bucket,
                    instant=True,
                )
                for bucket in IN_FLIGHT.labels
            ],
        ),
    )


def _slice(family: families.Family, name: str, bucket: str, *more: str) -> str:
    return total(family, more=",".join((f'slice="{name}",bucket="{bucket}"', *more)))


def _limits(thresholds: Thresholds) -> tuple[Panel, ...]:
    fastest = f"max by (job, upstream) ({recorded('tokens_per_second')})"
    plain = f"max by (job, upstream) ({recorded('tokens_per_second')} / {recorded('speedup')})"
    bound = gauge(families.PLAIN_BOUND, "job, upstream")
    return (
        Panel(
            kind="bargauge",
            title="Speedup to expect by draft length (×, an estimate)",
            description=(
                "What drafts of at most so many tokens would bring, from acceptance by position "
                "and the cost of a step; the longest is the present one. A higher bar further up "
                "says that shorter drafts pay more: set that length and look again. Absent where "
                "the server does not report positions, or drafts have not varied enough."
            ),
            unit="none",
            decimals=2,
            minimum=0,
            width=12,
            targets=[
                Target(
                    expr=gauge(
                        families.EXPECTED_SPEEDUP,
                        f"{BY_MODEL}, draft_length, in_use",
                        'bound="estimate"',
                    ),
                    legend=f"{NAME}: {{{{draft_length}}}}",
                    instant=True,
                )
            ],
            steps=((None, RED), (thresholds.speedup_floor, GREEN)),
            no_value="the server reports no positions",
        ),
        Panel(
            kind="timeseries",
            title="Share of the plain-decode bound (tokens per second / bandwidth ÷ weights)",
            description=(
                "The bound is what one request without speculation cannot exceed, as every token "
                "reads all weights once. Plain decoding far below 1 leaves more to gain by tuning "
                "the server than by speculation; with speculation, above 1 is what it is for. "
                "Needs memory_bandwidth_gb_s and weights_gb. Above 1 without speculation one of "
                "them is wrong."
            ),
            unit="percentunit",
            minimum=0,
            width=12,
            targets=[
                Target(
                    expr=f"{fastest} / on (job, upstream) {bound}",
                    legend="{{upstream}}: as it is",
                ),
                Target(
                    expr=f"{plain} / on (job, upstream) {bound}",
                    legend="{{upstream}}: without speculation",
                ),
            ],
            steps=((None, BLUE), (1, ORANGE)),
            no_value="no bandwidth and weights configured",
        ),
    )
