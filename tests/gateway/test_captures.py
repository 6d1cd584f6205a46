"""Real responses pass byte for byte, however they are cut, and their numbers come out right."""

from __future__ import annotations

import pytest

from tests.gateway.checks import numbers_counted
from tests.gateway.client import Answer, ask
from tests.gateway.expected import EXPECTED, STATUS, UNREAD
from tests.gateway.proxy import Proxy, running
from tests.replay import FRAMING, Capture, capture, capture_names, model_list
from tests.scripted import (
    CHUNKED,
    EVENTS,
    Script,
    ScriptedUpstream,
    answer,
    answer_and_close,
    chunk,
    chunked,
    cut,
    head,
)

NAMES = [name for name in capture_names() if not name.endswith("client_left")]
CUT_OFF = [name for name in capture_names() if name.endswith("client_left")]


def pieces(body: bytes, how: str) -> list[bytes]:
    """Cut a body; a long one to single bytes only at its beginning and, for longer, at its end."""
    if how != "bytes" or len(body) < 3000:
        return cut(body, how)
    return cut(body[:500], "bytes") + cut(body[500:-2000], "random") + cut(body[-2000:], "bytes")


def replay(taken: Capture, how: str) -> Script:
    """Make a script that answers as the server did."""
    body = pieces(taken.body, how)
    framed = chunked(body) if taken.is_chunked else body
    together = how == "whole"  # head and body in one piece, too
    framed = [taken.head + b"".join(framed)] if together else [taken.head, *framed]
    return answer_and_close(*framed) if taken.closes else answer(*framed)


async def through(proxy: Proxy, taken: Capture) -> Answer:
    return await ask(proxy.url, "POST", taken.target, body=b"{}")


def forwarded(got: Answer) -> list[tuple[bytes, bytes]]:
    """The headers that the client got, without those that specmeter may add."""
    return [item for item in got.fields if item[0].lower() not in {*FRAMING, b"x-request-id"}]


def test_every_capture_is_covered() -> None:
    """No response that was captured is left out of the tables."""
    errors = {name for name in NAMES if name.rpartition("/")[2] in STATUS}
    assert len(NAMES) > 50
    assert set(NAMES) == set(EXPECTED) | set(UNREAD) | errors


@pytest.mark.parametrize("how", ["bytes", "random", "whole"])
@pytest.mark.parametrize("name", NAMES)
async def test_capture(upstream: ScriptedUpstream, name: str, how: str) -> None:
    """Status, headers and body of a real response arrive as sent, and its numbers are counted."""
    taken = capture(name)
    upstream.script = replay(taken, how)
    upstream.models = model_list(name)
    async with running(upstream.url) as proxy:
        got = await through(proxy, taken)
        metrics = await proxy.metrics()
    assert got.complete
    assert got.head.split(b"\r\n")[0] == taken.head.split(b"\r\n")[0]
    assert forwarded(got) == taken.fields
    assert got.body == taken.body
    status = STATUS.get(name.rpartition("/")[2], 200)
    assert metrics.by("requests_total", "code") == {str(status): 1}
    assert metrics.by("requests_total", "endpoint") == {taken.target: 1}
    assert metrics.by("upstream_failures_total", "reason") == {}
    assert metrics.by("client_left_total", "endpoint") == {}
    if name in EXPECTED:
        numbers_counted(metrics, EXPECTED[name])
        model = "smol" if name.startswith("vllm") else "smollm2-135m"
        assert set(metrics.by("completions_total", "model_name")) == {model}
    else:
        assert metrics.by("completions_total", "model_name") == {}
        reason = UNREAD.get(name)
        assert metrics.by("unread_completions_total", "reason") == ({reason: 1} if reason else {})


@pytest.mark.parametrize("how", ["bytes", "random", "whole"])
@pytest.mark.parametrize("name", CUT_OFF)
async def test_cut_off_capture(upstream: ScriptedUpstream, name: str, how: str) -> None:
    """A stream that the server broke off breaks off for the client too, after all its bytes."""
    body = capture(name).body
    framed = [chunk(piece) for piece in pieces(body, how)]
    upstream.script = answer_and_close(head("200 OK", EVENTS, CHUNKED), *framed)
    async with running(upstream.url) as proxy:
        got = await through(proxy, capture(name))
        metrics = await proxy.metrics()
    assert not got.complete
    assert got.body == body
    assert metrics.by("upstream_failures_total", "reason") == {"broken_off": 1}
    assert metrics.by("unread_completions_total", "reason") == {"cut_short": 1}
    assert metrics.by("completions_total", "model_name") == {}
    assert metrics.by("client_left_total", "endpoint") == {}
