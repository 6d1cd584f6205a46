"""An OpenAI answer put together: token counts of its usage, drafting of its choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specmeter.backends.base import Extract, Message
from specmeter.backends.choices import choice_count
from specmeter.backends.counts import NOTHING_KNOWN, Drafts, together
from specmeter.backends.usage import Usage, find_usage
from specmeter.reading import RawNumbers
from specmeter.unread import Unread


def read_completion(
    messages: Sequence[Message],
    outputs: Sequence[Drafts],
    *,
    decode_milliseconds: Any = None,
) -> Extract:
    """Read an answer whose usage sums its choices up.

    Args:
        messages: The answer.
        outputs: What was drafted, for each choice that says so. Where only some do, their drafts
            do not go with the tokens of all, and are left out.
        decode_milliseconds: As the server says.
    """
    usage = find_usage(messages)
    if usage is None and not outputs and decode_milliseconds is None:
        return Extract(unread=Unread.NO_NUMBERS)
    sequences = max(choice_count(messages[-1]), len(outputs))
    missing = 0 < len(outputs) < sequences
    drafting = NOTHING_KNOWN if missing or not outputs else together(outputs)
    numbers = read_output(
        usage or Usage(),
        drafting,
        decode_milliseconds=decode_milliseconds,
        sequences=sequences,
    )
    return Extract((numbers,), Unread.OTHER_CHOICES if missing else None)


def read_output(usage: Usage, drafting: Drafts, **more: Any) -> RawNumbers:
    """Put tokens and drafting together."""
    return RawNumbers(
        generated=usage.generated,
        prompt=usage.prompt,
        cached_prompt=usage.cached_prompt,
        drafted=drafting.drafted,
        accepted=drafting.accepted,
        rounds=drafting.rounds,
        accepted_per_position=drafting.accepted_per_position,
        steps=drafting.steps,
        **more,
    )
