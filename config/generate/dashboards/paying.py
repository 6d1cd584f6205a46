"""Is it paying? One verdict, what it rests on, and the three numbers beside it."""

from __future__ import annotations

from config.generate.dashboards.dashboard import Dashboard, Row
from config.generate.dashboards.panel import BLUE, GREEN, RED, YELLOW, Panel, Target, line
from config.generate.dashboards.queries import NAME, gauge, per, recorded
from config.generate.thresholds import Thresholds
from specmeter.meter import families

_BASELINE = "upstream, model_name, baseline"
_NAMED_BASELINE = f"{NAME}: {{{{baseline}}}}"


def paying(thresholds: Thresholds) -> Dashboard:
    """Return the dashboard."""
    return Dashboard(
        uid="specmeter-paying",
        title="Speculation: is it paying?",
        description="Whether answers come faster than without speculation, and how sure that is.",
        rows=(
            Row("Is it faster than without?", _verdict(thresholds)),
            Row("Since when?", _over_time(thresholds)),
            Row("Three numbers, three denominators (last five minutes)", _numbers()),
            Row("Which model, which server? (last hour)", _models()),
            Row("What does that rest on?", _baselines(thresholds)),
        ),
    )


def _verdict(thresholds: Thresholds) -> tuple[Panel, ...]:
    floor = f"{thresholds.speedup_floor:g}"
    low, high = recorded("speedup_low", "1h"), recorded("speedup_high", "1h")
    speedup = recorded("speedup", "1h")
    drafted = recorded("spec_decode_num_draft_tokens:increase", "1h")
    verdict = (
        f"(({low} > bool {floor}) - ({high} < bool {floor}))"
        f" or 0 * {speedup} or (0 * ({drafted} > 0) + 2)"
    )
    colours = ((None, RED), (thresholds.speedup_floor, GREEN))
    return (
        Panel(
            kind="stat",
            title="Verdict of the last hour",
            description=(
                "FASTER or SLOWER: the whole 95 % interval of the speedup is above or below "
                f"{floor}. CANNOT TELL: {floor} lies in it, or there are too few completions; wait "
                "for more, or get a better baseline. NO BASELINE: something was drafted, and "
                "nothing tells how fast it would be without; set holdout, shadow, baseline_file or "
                "plain_tokens_per_second for the upstream. SLOWER: see the dashboard “Why?”, and "
                "switch speculation off until that is settled."
            ),
            unit="none",
            targets=[Target(expr=verdict, legend=NAME, instant=True)],
            texts=(
                (1, "FASTER", GREEN),
                (-1, "SLOWER", RED),
                (0, "CANNOT TELL", YELLOW),
                (2, "NO BASELINE", BLUE),
            ),
            no_value="NOTHING DRAFTED",
            options={"colorMode": "background"},
        ),
        Panel(
            kind="stat",
            title="Speedup of the last hour (× = plain seconds / decode seconds)",
            description=(
                "How many times faster tokens came than without speculation, with the two ends of "
                "its 95 % interval. Below 1 answers are slower than without. A wide interval means "
                "few completions or a rough baseline: look at the last row."
            ),
            unit="none",
            decimals=2,
            targets=[
                Target(expr=low, legend=f"{NAME}: at least", instant=True),
                Target(expr=speedup, legend=f"{NAME}: estimate", instant=True),
                Target(expr=high, legend=f"{NAME}: at most", instant=True),
            ],
            steps=colours,
            no_value="no baseline",
        ),
        Panel(
            kind="stat",
            title="Seconds saved (above 0) or lost (below 0) in the last 24 hours",
            description=(
                "What the same tokens would have taken without speculation, less what they took, "
                "summed over all requests with a baseline. Below 0 clients have waited that much "
                "longer: turn speculation off, or find out why on the dashboard “Why?”."
            ),
            unit="s",
            decimals=0,
            targets=[
                Target(
                    expr=(
                        f"{recorded('plain_decode_seconds:increase', '1d')}"
                        f" - {recorded('compared_decode_seconds:increase', '1d')}"
                    ),
                    legend=NAME,
                    instant=True,
                )
            ],
            steps=((None, RED), (0, GREEN)),
            no_value="no baseline",
        ),
    )


def _over_time(thresholds: Thresholds) -> tuple[Panel, ...]:
    floor = f"{thresholds.speedup_floor:g}"
    return (
        Panel(
            kind="timeseries",
            title="Speedup of $upstream with its 95 % interval (× = plain / decode seconds)",
            description=(
                "The line is the speedup of the hour before each moment, the band its 95 % "
                f"interval, the dashed line {floor}. A band wholly below the dashed line means "
                "that speculation slows answers down, one across it that nobody can tell yet. "
                "Choose one model above if several are drawn. After a drop, look for a purple "
                "mark: a change of the server's build."
            ),
            unit="none",
            width=24,
            height=9,
            minimum=0,
            decimals=2,
            repeat="upstream",
            targets=[
                Target(expr=recorded("speedup_high", "1h"), legend="at most"),
                Target(expr=recorded("speedup_low", "1h"), legend="at least"),
                Target(expr=recorded("speedup", "1h"), legend="speedup"),
                Target(expr=f"vector({floor})", legend="as fast as without"),
            ],
            styles=(
                line("at most", BLUE, fill_to="at least", width=1),
                line("at least", BLUE, width=1),
                line("speedup", BLUE, width=3),
                line("as fast as without", RED, dashed=True),
            ),
        ),
        Panel(
            kind="timeseries",
            title="Seconds saved (above 0) or lost (below 0) in the hour before",
            description=(
                "Plain seconds less decode seconds, summed over requests with a baseline. Below 0 "
                "clients waited longer than without speculation: compare with what changed at that "
                "time, and turn speculation off if it stays there."
            ),
            unit="s",
            width=12,
            targets=[
                Target(
                    expr=(
                        f"{recorded('plain_decode_seconds:increase', '1h')}"
                        f" - {recorded('compared_decode_seconds:increase', '1h')}"
                    ),
                    legend=NAME,
                )
            ],
        ),
        Panel(
            kind="timeseries",
            title="Tokens per second of one request (decoded tokens / decode seconds)",
            description=(
                "How fast one request's tokens come while decoding, over all requests of five "
                "minutes, and what its baseline says of plain decoding on the same requests. With "
                "the first below the second, speculation slows answers down. Both fall with load "
                "and long contexts, which is no fault of speculation."
            ),
            unit="none",
            width=12,
            minimum=0,
            decimals=1,
            targets=[
                Target(expr=recorded("tokens_per_second"), legend=NAME),
                Target(
                    expr=f"{recorded('tokens_per_second')} / {recorded('speedup')}",
                    legend=f"{NAME}: without speculation",
                ),
            ],
        ),
    )


def _numbers() -> tuple[Panel, ...]:
    return (
        Panel(
            kind="timeseries",
            title="Acceptance (accepted / drafted tokens)",
            description=(
                "Of guesses: how often is one right? Low acceptance wastes the work of drafting: "
                "use shorter drafts or another drafter. High acceptance alone does not make "
                "answers fast: with it at 99 % a drafter can still cost more than it brings."
            ),
            unit="percentunit",
            minimum=0,
            maximum=1,
            targets=[Target(expr=recorded("acceptance"), legend=NAME)],
        ),
        Panel(
            kind="timeseries",
            title="Output per target step (generated tokens / all runs of the target)",
            description=(
                "Of all runs of the target model, those without a draft too: what does one bring "
                "back? 1 is plain decoding. Near 1, drafts are rare or wrong. It is this number, "
                "against what a run costs, that decides on speed: see “Why?”."
            ),
            unit="none",
            minimum=1,
            decimals=2,
            targets=[Target(expr=recorded("output_per_step"), legend=NAME)],
        ),
        Panel(
            kind="timeseries",
            title="Mean acceptance length (1 + accepted tokens / rounds with a draft)",
            description=(
                "Of rounds that had a draft: what does one bring back? The engines' “mean len”. "
                "Far above output per target step, drafts are good but rare. Absent where the "
                "server does not report rounds: llama.cpp tells them in its log (option log), vLLM "
                "with --per-request-spec-decode-metrics."
            ),
            unit="none",
            minimum=1,
            decimals=2,
            no_value="the server reports no rounds",
            targets=[Target(expr=recorded("acceptance_length"), legend=NAME)],
        ),
    )


def _models() -> tuple[Panel, ...]:
    columns = (
        ("speedup (×)", recorded("speedup", "1h")),
        ("at least (×)", recorded("speedup_low", "1h")),
        ("at most (×)", recorded("speedup_high", "1h")),
        ("accepted / drafted", recorded("acceptance", "1h")),
        ("tokens / step", recorded("output_per_step", "1h")),
        ("tokens / second", recorded("tokens_per_second", "1h")),
        ("seconds / step", recorded("step_seconds", "1h")),
        ("completions", f"{recorded('completions:increase', '1h')} > 0"),
    )
    return (
        Panel(
            kind="table",
            title="By model and upstream",
            description=(
                "The last hour's numbers side by side. A speedup below 1 is a model to look at "
                "first; no speedup means no baseline, as for plain servers. Few completions make "
                "all of it rough."
            ),
            unit="none",
            decimals=3,
            width=24,
            height=7,
            columns=[name for name, _ in columns],
            targets=[Target(expr=expr, legend=name, instant=True) for name, expr in columns],
        ),
    )


_OF_MODEL = "on (job, upstream, model_name) group_left () "


def _baselines(thresholds: Thresholds) -> tuple[Panel, ...]:
    by_baseline = recorded("compared_decode_seconds_by_baseline:increase", "1h")
    together = recorded("compared_decode_seconds:increase", "1h")
    updated = gauge(families.BASELINE_UPDATED, _BASELINE)
    return (
        Panel(
            kind="bargauge",
            title="Baselines in use (share of compared decode seconds, last hour)",
            description=(
                "Where plain speed is known from, for the speedups above; best first: holdout, "
                "shadow, measured, fixed, undrafted. A speedup against fixed is rough, one against "
                "undrafted cannot see what an idle drafter costs: set holdout or shadow."
            ),
            unit="percentunit",
            minimum=0,
            maximum=1,
            width=6,
            targets=[
                Target(
                    expr=per(by_baseline, together, _OF_MODEL),
                    legend=_NAMED_BASELINE,
                    instant=True,
                )
            ],
            no_value="no baseline",
        ),
        Panel(
            kind="stat",
            title="What the baseline may be off by (95 %, of its value)",
            description=(
                "The part of the interval that more traffic does not shrink. Above a tenth, small "
                "speedups cannot be told from none: take more holdout or shadow samples, or "
                "measure the baseline anew."
            ),
            unit="percentunit",
            width=6,
            decimals=1,
            targets=[
                Target(
                    expr=recorded("speedup_baseline_error", "1h"),
                    legend=NAME,
                    instant=True,
                )
            ],
            steps=((None, GREEN), (0.1, YELLOW), (0.3, RED)),
            no_value="no baseline",
        ),
        Panel(
            kind="stat",
            title="Age of each baseline (since the mean of its samples)",
            description=(
                f"Speed drifts with heat, load and upgrades. Red beyond {thresholds.baseline_days} "
                "days: measure anew with `specmeter baseline`, or set holdout or shadow, which "
                "keep themselves fresh."
            ),
            unit="s",
            width=6,
            decimals=0,
            targets=[
                Target(expr=f"time() - {updated}", legend=_NAMED_BASELINE, instant=True),
            ],
            steps=((None, GREEN), (thresholds.baseline_days * 86400, RED)),
            no_value="no baseline",
        ),
        Panel(
            kind="stat",
            title="Is the baseline of the build and model that answer now?",
            description=(
                "NO means that it was measured with another build or model than answers now, and "
                "its doubt was raised for that: measure anew."
            ),
            unit="none",
            width=6,
            targets=[
                Target(
                    expr=gauge(families.BASELINE_STALE, _BASELINE),
                    legend=_NAMED_BASELINE,
                    instant=True,
                )
            ],
            texts=((0, "YES", GREEN), (1, "NO", RED)),
            no_value="no baseline",
        ),
    )
