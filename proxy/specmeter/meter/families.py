"""Every metric family that is exported: the one list of names, types, labels and meanings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]

PREFIX = "specmeter_"

FIRST_TOKEN_BUCKETS = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 15.0, 30.0, 60.0),
)
PER_TOKEN_BUCKETS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    *(1.0, 2.5),
)
DURATION_BUCKETS = tuple(0.01 * 2**power for power in range(16))
RATIO_BUCKETS = tuple(step / 20 for step in range(1, 21))
PER_STEP_BUCKETS = (1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 32.0)
SPEEDUP_BUCKETS = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)
CHARACTER_BUCKETS = (1.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
OVERHEAD_BUCKETS = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 1.0)


@dataclass(frozen=True, slots=True)
class Family:
    """One metric family."""

    name: str
    """Without the prefix; a counter's with `_total`."""
    kind: Kind
    labels: tuple[str, ...]
    meaning: str
    buckets: tuple[float, ...] = ()

    @property
    def full_name(self) -> str:
        """The name as it is scraped."""
        return PREFIX + self.name


_MODEL = ("upstream", "model_name")
_COMPARED = (*_MODEL, "baseline")
_SLICE = (*_MODEL, "slice", "bucket")
_STRATUM = (*_COMPARED, "context", "in_flight")

REQUESTS = Family(
    "requests_total",
    "counter",
    ("upstream", "endpoint", "code"),
    "Requests on the data listener by the HTTP status the client got; 499 if it left before.",
)
COMPLETIONS = Family(
    "completions_total",
    "counter",
    (*_MODEL, "speculation", "source"),
    "Completions with numbers, by what they say of drafting: drafted, not_drafted, not_reported; "
    "source: response, matched (response and log), log.",
)
CLIENT_LEFT = Family(
    "client_left_total",
    "counter",
    ("upstream", "endpoint"),
    "Requests whose client left before the answer was complete.",
)
UPSTREAM_FAILURES = Family(
    "upstream_failures_total",
    "counter",
    ("upstream", "reason"),
    "Requests that the upstream failed: not reached, broken off, broke HTTP, silent.",
)
PROMPT_TOKENS = Family(
    "prompt_tokens_total",
    "counter",
    _MODEL,
    "Prompt tokens, those found in the cache included.",
)
CACHED_PROMPT_TOKENS = Family(
    "cached_prompt_tokens_total",
    "counter",
    _MODEL,
    "Prompt tokens found in the cache.",
)
GENERATED_TOKENS = Family(
    "generated_tokens_total",
    "counter",
    _MODEL,
    "Generated tokens, also of completions that do not report drafting.",
)
TARGET_STEP_TOKENS = Family(
    "target_step_tokens_total",
    "counter",
    _MODEL,
    "Generated tokens that target_steps brought back: those of completions that report drafting.",
)
TARGET_STEPS = Family(
    "target_steps_total",
    "counter",
    _MODEL,
    "Runs of the target model behind target_step_tokens, those without a draft included.",
)
DRAFTS = Family(
    "spec_decode_num_drafts_total",
    "counter",
    _MODEL,
    "Target steps that had a draft to verify; only from servers that report rounds.",
)
ROUND_ACCEPTED_TOKENS = Family(
    "spec_decode_num_drafts_accepted_tokens_total",
    "counter",
    _MODEL,
    "Accepted tokens of spec_decode_num_drafts: those of completions that report rounds.",
)
DRAFT_TOKENS = Family(
    "spec_decode_num_draft_tokens_total",
    "counter",
    _MODEL,
    "Drafted tokens handed to verification.",
)
ACCEPTED_TOKENS = Family(
    "spec_decode_num_accepted_tokens_total",
    "counter",
    _MODEL,
    "Drafted tokens that were accepted; the target's own token of a step is not one of them.",
)
ACCEPTED_PER_POSITION = Family(
    "spec_decode_num_accepted_tokens_per_pos_total",
    "counter",
    (*_MODEL, "position"),
    "Drafts whose token at this position (from 0) was accepted; where reported, up to a limit.",
)
DECODE_SECONDS = Family(
    "decode_seconds_total",
    "counter",
    (*_MODEL, "baseline"),
    "Seconds from the first generated token to the last, of completions of 8 tokens or more; "
    "baseline: what they are compared with, none for those without.",
)
DECODE_TOKENS = Family(
    "decode_tokens_total",
    "counter",
    (*_MODEL, "baseline"),
    "Tokens that came in decode_seconds: all but the first of each completion.",
)
PLAIN_DECODE_SECONDS = Family(
    "plain_decode_seconds_total",
    "counter",
    _COMPARED,
    "Seconds that the tokens of decode_seconds would have taken without speculation.",
)
DECODE_SECONDS_SQUARED = Family(
    "decode_seconds_squared_total",
    "counter",
    _COMPARED,
    "Squares of each completion's decode seconds, for the speedup's interval.",
)
PLAIN_DECODE_SECONDS_SQUARED = Family(
    "plain_decode_seconds_squared_total",
    "counter",
    _COMPARED,
    "Squares of each completion's plain seconds, for the speedup's interval.",
)
DECODE_SECONDS_CROSS = Family(
    "decode_seconds_cross_total",
    "counter",
    _COMPARED,
    "Decode seconds times plain seconds of each completion, for the speedup's interval.",
)
PLAIN_DECODE_DOUBT = Family(
    "plain_decode_doubt_seconds_total",
    "counter",
    _COMPARED,
    "Plain seconds times their baseline's relative error, for the speedup's interval.",
)
TIMED_STEPS = Family(
    "timed_steps_total",
    "counter",
    _MODEL,
    "Runs of the target after the prompt pass, of completions that report both steps and time.",
)
TIMED_STEP_SECONDS = Family(
    "timed_step_seconds_total",
    "counter",
    _MODEL,
    "Decode seconds that timed_steps took.",
)
REQUEST_SPEEDUP = Family(
    "request_speedup_ratio",
    "histogram",
    _MODEL,
    "Plain seconds per decode second of one completion: mostly noise, so look at the whole.",
    SPEEDUP_BUCKETS,
)
SLICE_COMPLETIONS = Family(
    "slice_completions_total",
    "counter",
    _SLICE,
    "Completions by slice: context (tokens in the cache at mid-generation), output (generated "
    "tokens) or in_flight (requests at the same time), and bucket.",
)
SLICE_STEP_TOKENS = Family(
    "slice_target_step_tokens_total",
    "counter",
    _SLICE,
    "target_step_tokens by slice.",
)
SLICE_STEPS = Family(
    "slice_target_steps_total",
    "counter",
    _SLICE,
    "target_steps by slice.",
)
SLICE_DRAFT_TOKENS = Family(
    "slice_spec_decode_num_draft_tokens_total",
    "counter",
    _SLICE,
    "Drafted tokens by slice.",
)
SLICE_ACCEPTED_TOKENS = Family(
    "slice_spec_decode_num_accepted_tokens_total",
    "counter",
    _SLICE,
    "Accepted tokens by slice.",
)
SLICE_DECODE_SECONDS = Family(
    "slice_decode_seconds_total",
    "counter",
    (*_SLICE, "baseline"),
    "decode_seconds by slice.",
)
SLICE_DECODE_TOKENS = Family(
    "slice_decode_tokens_total",
    "counter",
    (*_SLICE, "baseline"),
    "decode_tokens by slice.",
)
SLICE_PLAIN_SECONDS = Family(
    "slice_plain_decode_seconds_total",
    "counter",
    (*_SLICE, "baseline"),
    "plain_decode_seconds by slice.",
)
BASELINE_SECONDS_PER_TOKEN = Family(
    "baseline_seconds_per_token",
    "gauge",
    _STRATUM,
    "Seconds per token without speculation, by source, context and requests in flight.",
)
BASELINE_RELATIVE_ERROR = Family(
    "baseline_relative_error",
    "gauge",
    _STRATUM,
    "Standard error of baseline_seconds_per_token per unit; it grows with age.",
)
BASELINE_UPDATED = Family(
    "baseline_updated_timestamp_seconds",
    "gauge",
    _STRATUM,
    "When that was measured: the mean of its samples' times.",
)
BASELINE_STALE = Family(
    "baseline_stale",
    "gauge",
    _COMPARED,
    "Whether the baseline is of another build or model than answers now (1) or not (0).",
)
STEP_FIXED_SECONDS = Family(
    "step_fixed_seconds",
    "gauge",
    (*_MODEL, "bound"),
    "What a run of the target costs without a draft, fitted over recent completions; "
    "bound: estimate, low, high.",
)
STEP_DRAFT_SECONDS = Family(
    "step_draft_token_seconds",
    "gauge",
    (*_MODEL, "bound"),
    "What each drafted token adds to the cost of a run of the target; bound: estimate, low, high.",
)
BREAK_EVEN = Family(
    "break_even_output_per_step",
    "gauge",
    (*_MODEL, "bound"),
    "Tokens that a run of the target has to bring back to be as fast as without speculation, at "
    "the present drafts; bound: estimate, low, high.",
)
EXPECTED_SPEEDUP = Family(
    "expected_speedup_ratio",
    "gauge",
    (*_MODEL, "draft_length", "in_use", "bound"),
    "Speedup to expect if drafts were at most so long: an estimate; in_use marks the present "
    "length; bound: estimate, low, high.",
)
PLAIN_BOUND = Family(
    "plain_decode_bound_tokens_per_second",
    "gauge",
    ("upstream",),
    "What plain decoding of one request cannot exceed: memory bandwidth / weights, as configured.",
)
OUTPUT_CHECKS = Family(
    "output_checks_total",
    "counter",
    (*_MODEL, "result"),
    "Greedy completions replayed without speculation, by whether the texts are the same: "
    "identical, diverged.",
)
FIRST_DIFFERENCE = Family(
    "output_first_difference_characters",
    "histogram",
    _MODEL,
    "Characters that are the same before two diverging outputs differ.",
    CHARACTER_BUCKETS,
)
SHADOW_REPLAYS = Family(
    "shadow_replays_total",
    "counter",
    ("upstream", "result"),
    "Finished requests chosen for a replay on the plain upstream: done, failed, skipped (too old "
    "or too many before it was idle), abandoned (live traffic came).",
)
HOLDOUT_REQUESTS = Family(
    "holdout_requests_total",
    "counter",
    ("upstream", "result"),
    "Live requests drawn for the plain upstream: answered by it, or fell_back to speculation.",
)
FIRST_TOKEN = Family(
    "time_to_first_token_seconds",
    "histogram",
    _MODEL,
    "From a streamed request to its first content, on the proxy's clock.",
    FIRST_TOKEN_BUCKETS,
)
PER_TOKEN = Family(
    "time_per_output_token_seconds",
    "histogram",
    _MODEL,
    "Decode seconds per decoded token of a completion of 8 tokens or more.",
    PER_TOKEN_BUCKETS,
)
DURATION = Family(
    "request_duration_seconds",
    "histogram",
    _MODEL,
    "From a completion's request to the end of its answer.",
    DURATION_BUCKETS,
)
REQUEST_ACCEPTANCE = Family(
    "request_acceptance_ratio",
    "histogram",
    _MODEL,
    "Accepted per drafted token of a completion in which something was drafted.",
    RATIO_BUCKETS,
)
REQUEST_PER_STEP = Family(
    "request_output_per_step",
    "histogram",
    _MODEL,
    "Generated tokens per target step of a completion that reports drafting.",
    PER_STEP_BUCKETS,
)
OVERHEAD = Family(
    "overhead_seconds",
    "histogram",
    ("upstream",),
    "What the proxy itself added before the first byte of an answer.",
    OVERHEAD_BUCKETS,
)
UNREAD = Family(
    "unread_completions_total",
    "counter",
    ("upstream", "reason"),
    "Answers to completion requests (status 200) that could not be read, or only in part.",
)
INCONSISTENT = Family(
    "inconsistent_completions_total",
    "counter",
    ("upstream", "reason"),
    "Completions with a number that cannot be true.",
)
UPSTREAM_UP = Family(
    "upstream_up",
    "gauge",
    ("upstream",),
    "Whether the upstream answered when last asked (1) or not (0); absent before that.",
)
UPSTREAM_INFO = Family(
    "upstream_info",
    "gauge",
    ("upstream", "backend", "build", "method"),
    "What is known of the upstream: kind, build (system_fingerprint), drafting method.",
)
UPSTREAM_DRAFTS = Family(
    "upstream_spec_decode_num_drafts_total",
    "counter",
    _MODEL,
    "Steps that had a draft to verify, as the upstream's own metrics page counts them.",
)
UPSTREAM_DRAFT_TOKENS = Family(
    "upstream_spec_decode_num_draft_tokens_total",
    "counter",
    _MODEL,
    "Drafted tokens, as the upstream's own page counts them.",
)
UPSTREAM_ACCEPTED_TOKENS = Family(
    "upstream_spec_decode_num_accepted_tokens_total",
    "counter",
    _MODEL,
    "Accepted drafted tokens, as the upstream's own page counts them.",
)
UPSTREAM_ACCEPTED_PER_POSITION = Family(
    "upstream_spec_decode_num_accepted_tokens_per_pos_total",
    "counter",
    (*_MODEL, "position"),
    "Accepted tokens by their position in the draft, from the upstream's own page; up to a limit.",
)
UPSTREAM_DRAFTED_PER_POSITION = Family(
    "upstream_spec_decode_num_draft_tokens_per_pos_total",
    "counter",
    (*_MODEL, "position"),
    "Drafted tokens by their position in the draft, from the upstream's own page; up to a limit.",
)
UPSTREAM_VERIFY_CALLS = Family(
    "upstream_spec_decode_num_verify_calls_total",
    "counter",
    _MODEL,
    "SGLang's verify calls: runs of the target in requests that ended by themselves.",
)
UPSTREAM_GENERATED_TOKENS = Family(
    "upstream_generated_tokens_total",
    "counter",
    _MODEL,
    "Generated tokens of the whole server, as its own page counts them.",
)
UPSTREAM_PROMPT_TOKENS = Family(
    "upstream_prompt_tokens_total",
    "counter",
    _MODEL,
    "Prompt tokens of the whole server, those found in the cache included, from its own page.",
)
UPSTREAM_RUNNING = Family(
    "upstream_num_requests_running",
    "gauge",
    _MODEL,
    "Requests under way when the upstream's own page was read; absent if it cannot be read.",
)
UPSTREAM_SCRAPE_TIME = Family(
    "upstream_scrape_timestamp_seconds",
    "gauge",
    ("upstream",),
    "When the upstream's own page was last read without a failure.",
)
UPSTREAM_SCRAPE_FAILURES = Family(
    "upstream_scrape_failures_total",
    "counter",
    ("upstream", "reason"),
    "Attempts to read the upstream's own page that failed, in whole or in part.",
)
UPSTREAM_SPECULATION = Family(
    "upstream_speculation",
    "gauge",
    ("upstream", "state"),
    "What is known of the upstream's speculation: 1 for the state it is in, 0 for the others.",
)
LAST_DRAFTED = Family(
    "last_drafted_timestamp_seconds",
    "gauge",
    _MODEL,
    "When a completion last had something drafted; absent before the first.",
)
WORKER_RESTARTS = Family(
    "worker_restarts_total",
    "counter",
    (),
    "Worker processes that ended by themselves and were replaced; absent with one process.",
)
BUILD_INFO = Family(
    "build_info",
    "gauge",
    ("version", "python_version"),
    "This proxy.",
)

FAMILIES: tuple[Family, ...] = (
    REQUESTS,
    COMPLETIONS,
    CLIENT_LEFT,
    UPSTREAM_FAILURES,
    PROMPT_TOKENS,
    CACHED_PROMPT_TOKENS,
    GENERATED_TOKENS,
    TARGET_STEPS,
    TARGET_STEP_TOKENS,
    DRAFTS,
    ROUND_ACCEPTED_TOKENS,
    DRAFT_TOKENS,
    ACCEPTED_TOKENS,
    ACCEPTED_PER_POSITION,
    DECODE_SECONDS,
    DECODE_TOKENS,
    PLAIN_DECODE_SECONDS,
    DECODE_SECONDS_SQUARED,
    PLAIN_DECODE_SECONDS_SQUARED,
    DECODE_SECONDS_CROSS,
    PLAIN_DECODE_DOUBT,
    TIMED_STEPS,
    TIMED_STEP_SECONDS,
    REQUEST_SPEEDUP,
    SLICE_COMPLETIONS,
    SLICE_STEP_TOKENS,
    SLICE_STEPS,
    SLICE_DRAFT_TOKENS,
    SLICE_ACCEPTED_TOKENS,
    SLICE_DECODE_SECONDS,
    SLICE_DECODE_TOKENS,
    SLICE_PLAIN_SECONDS,
    BASELINE_SECONDS_PER_TOKEN,
    BASELINE_RELATIVE_ERROR,
    BASELINE_UPDATED,
    BASELINE_STALE,
    STEP_FIXED_SECONDS,
    STEP_DRAFT_SECONDS,
    BREAK_EVEN,
    EXPECTED_SPEEDUP,
    PLAIN_BOUND,
    OUTPUT_CHECKS,
    FIRST_DIFFERENCE,
    SHADOW_REPLAYS,
    HOLDOUT_REQUESTS,
    FIRST_TOKEN,
    PER_TOKEN,
    DURATION,
    REQUEST_ACCEPTANCE,
    REQUEST_PER_STEP,
    OVERHEAD,
    UNREAD,
    INCONSISTENT,
    UPSTREAM_UP,
    UPSTREAM_INFO,
    UPSTREAM_SPECULATION,
    LAST_DRAFTED,
    UPSTREAM_DRAFTS,
    UPSTREAM_DRAFT_TOKENS,
    UPSTREAM_ACCEPTED_TOKENS,
    UPSTREAM_ACCEPTED_PER_POSITION,
    UPSTREAM_DRAFTED_PER_POSITION,
    UPSTREAM_VERIFY_CALLS,
    UPSTREAM_GENERATED_TOKENS,
    UPSTREAM_PROMPT_TOKENS,
    UPSTREAM_RUNNING,
    UPSTREAM_SCRAPE_TIME,
    UPSTREAM_SCRAPE_FAILURES,
    WORKER_RESTARTS,
    BUILD_INFO,
)
