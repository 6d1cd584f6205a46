"""SGLang: its OpenAI endpoints and its own."""

from __future__ import annotations

from typing import Any

from tests.answers import Message, chat, chunk, finish, last
from tests.examples.example import DRAFTED, ROUNDS, USAGE, USAGE_NAMES, Example, paths

DETAILS = {
    "spec_accept_rate": 0.3333,
    "spec_accept_length": 2.015625,
    "spec_cap_length": 0.0,
    "spec_block_accept_length": 0.0,
    "spec_num_correct_drafts": 64,
    "spec_num_proposed_drafts": 192,
    "spec_verify_ct": 64,
    "spec_correct_drafts_histogram": [24, 23, 10, 7],
    "spec_cap_lens_histogram": [],
}
DETAILS_NAMES = "spec_num_correct_drafts spec_num_proposed_drafts spec_verify_ct"
VERIFIED = {**ROUNDS, "steps": 65}
NATIVE = {"id": "a1", "finish_reason": None, "prompt_tokens": 41, "cached_tokens": 0}
META_INFO = {
    **NATIVE,
    "finish_reason": {"type": "length", "length": 129},
    "completion_tokens": 129,
    "spec_accept_rate": 0.333,
    "spec_accept_length": 2.02,
    "spec_num_correct_drafts": 64,
    "spec_num_proposed_drafts": 192,
    "spec_verify_ct": 64,
    "spec_correct_drafts_histogram": [24, 23, 10, 7],
}
NATIVE_NAMES = f"{USAGE_NAMES} cached_tokens {DETAILS_NAMES}"


def older(accepted: str, proposed: str, histogram: str | None) -> Message:
    """Return the speculative part of a `meta_info` under older names."""
    named: Message = {accepted: 64, proposed: 192, "spec_verify_ct": 64}
    return {**named, **({histogram: [24, 23, 10, 7]} if histogram else {})}


OLDER_NAMES = (
    ("spec_accepted_drafts", "spec_proposed_drafts", "spec_accept_histogram"),
    ("spec_accepted_tokens", "spec_draft_tokens", None),
    ("spec_accept_token_num", "spec_draft_token_num", "spec_accept_histogram"),
)


def native(text: str, tokens: int, **more: Any) -> Message:
    """Return a result of `/generate`, or what there is of it so far."""
    return {"text": text, "meta_info": {**NATIVE, "completion_tokens": tokens, **more}}


SGLANG = (
    Example(
        "sglang",
        "chat",
        "body",
        (chat({"matched_stop": None}, usage=USAGE, sglext={"spec_tokens_details": DETAILS}),),
        (
            *paths(0, "usage", names=USAGE_NAMES),
            *paths(0, "sglext", "spec_tokens_details", names=DETAILS_NAMES),
            (0, "sglext", "spec_tokens_details", "spec_correct_drafts_histogram", 1),
        ),
        VERIFIED,
    ),
    Example(
        "sglang",
        "stream",
        "events",
        (
            chunk("a"),
            finish(matched_stop=2),
            last(sglext={"spec_tokens_details": DETAILS}),
            last(usage=USAGE),
        ),
        (
            *paths(2, "sglext", "spec_tokens_details", names=DETAILS_NAMES),
            *paths(3, "usage", names=USAGE_NAMES),
        ),
        VERIFIED,
    ),
    Example(
        "sglang",
        "generate",
        "body",
        ({"text": "ab", "output_ids": [1, 2], "meta_info": META_INFO},),
        paths(0, "meta_info", names=NATIVE_NAMES),
        {**VERIFIED, "cached_prompt": 0},
    ),
    Example(
        "sglang",
        "generate_stream",
        "events",
        (native("a", 1), native("ab", 60), {"text": "abc", "meta_info": META_INFO}),
        paths(2, "meta_info", names=NATIVE_NAMES),
        {**VERIFIED, "cached_prompt": 0},
    ),
    *(
        Example(
            "sglang",
            f"generate_{names[0]}",
            "body",
            (native("ab", 129, **older(*names)),),
            paths(0, "meta_info", names=f"{names[0]} {names[1]} spec_verify_ct"),
            VERIFIED if names[2] else {**DRAFTED, "rounds": 64, "steps": 65},
        )
        for names in OLDER_NAMES
    ),
    Example(
        "sglang",
        "meta_info_of_the_choice",
        "body",
        (chat({"matched_stop": None, "meta_info": META_INFO}, usage=USAGE),),
        paths(0, "choices", 0, "meta_info", names=DETAILS_NAMES),
        VERIFIED,
    ),
)
