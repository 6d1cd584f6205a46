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
    "Seconds from the first generated token to the last, of completions of 8 tokens or more.",
)
DECODE_TOKENS = Family(
    "decode_tokens_total",
    "counter",
    (*_MODEL, "baseline"),
    "Tokens that came in decode_seconds: all but the first of each completion.",
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
    DRAFT_TOKENS,
    ACCEPTED_TOKENS,
    ACCEPTED_PER_POSITION,
    DECODE_SECONDS,
    DECODE_TOKENS,
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
    BUILD_INFO,
)
