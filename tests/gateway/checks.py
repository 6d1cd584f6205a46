"""What many tests of the data path check."""

from __future__ import annotations

import pytest

from tests.gateway.client import CHAT, CHAT_BODY, Answer, chat
from tests.gateway.expected import Numbers
from tests.gateway.proxy import Metrics, Proxy
from tests.scripted import ScriptedUpstream, event_stream


def numbers_counted(metrics: Metrics, numbers: Numbers) -> None:
    """Compare the counters of a single completion with what its response says."""
    one = metrics.total
    assert metrics.by("completions_total", "speculation") == {numbers.speculation: 1}
    assert one("generated_tokens_total") == numbers.generated
    assert one("prompt_tokens_total") == numbers.prompt
    assert one("cached_prompt_tokens_total") == (numbers.cached or 0)
    assert one("spec_decode_num_draft_tokens_total") == (numbers.drafted or 0)
    assert one("spec_decode_num_accepted_tokens_total") == (numbers.accepted or 0)
    assert one("target_steps_total") == (numbers.steps or 0)
    assert one("target_step_tokens_total") == (numbers.generated if numbers.steps else 0)
    assert one("spec_decode_num_drafts_total") == numbers.rounds
    per_position = metrics.by("spec_decode_num_accepted_tokens_per_pos_total", "position")
    assert per_position == {str(at): number for at, number in enumerate(numbers.positions)}
    if numbers.seconds is not None:
        assert one("decode_seconds_total") == pytest.approx(numbers.seconds, rel=1e-12)
        assert one("decode_tokens_total") == numbers.generated - 1
    unread, inconsistent = numbers.unread, numbers.inconsistent
    assert metrics.by("unread_completions_total", "reason") == ({unread: 1} if unread else {})
    assert metrics.by("inconsistent_completions_total", "reason") == (
        {inconsistent: 1} if inconsistent else {}
    )


def told(got: Answer, url: str, status: int, reason: str) -> None:
    """See that the client is told what happened, where, and what to do."""
    assert got.status == status
    error = got.error
    assert error["code"] == f"upstream_{reason}"
    assert 'upstream "default"' in error["message"]
    assert url in error["message"]
    assert error["message"].rstrip().endswith(("?", "."))  # whole sentences, the last a remedy
    assert got.all(b"x-specmeter-error") == [reason.encode()]
    assert len(got.all(b"x-request-id")) == 1


async def counted(proxy: Proxy, code: int, reason: str, endpoint: str = CHAT) -> None:
    metrics = await proxy.metrics()
    assert metrics.by("upstream_failures_total", "reason") == {reason: 1}
    assert metrics.total("requests_total", endpoint=endpoint, code=str(code)) == 1
    assert metrics.by("client_left_total", "endpoint") == {}


async def works(proxy: Proxy, upstream: ScriptedUpstream) -> None:
    """See that the next request is answered."""
    upstream.script = event_stream(b"data: [DONE]\n\n")
    got = await chat(proxy.url, CHAT_BODY)
    assert (got.status, got.body) == (200, b"data: [DONE]\n\n")
