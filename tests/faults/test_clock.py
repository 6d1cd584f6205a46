"""The wall clock is set forth and back between completions: every number stays what it is."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from specmeter.history.timeline import RANGES
from specmeter.speedup.store import decode
from tests.gateway.client import CHAT_BODY, ask, chat
from tests.gateway.plain import completion
from tests.gateway.proxy import Metrics, Proxy, running
from tests.scripted import ScriptedUpstream, answer, response
from tests.upstream_pages.served import OFTEN, page

HOUR = 3600.0
STEPS = [6 * HOUR, -12 * HOUR, -30.0, 24 * HOUR, -90.0, -30 * 24 * HOUR, 60 * 24 * HOUR]
"""By so much the clock is set each time, in seconds."""

EACH = 3
"""Completions of each kind between two steps."""


class Wall:
    """The system's clock, as somebody sets it."""

    def __init__(self) -> None:
        self._real = time.time
        self.ahead = 0.0

    def __call__(self) -> float:
        return self._real() + self.ahead


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    """Give a clock that can be set; only what tells the date follows it."""
    clock = Wall()
    monkeypatch.setattr(time, "time", clock)
    return clock


async def api(proxy: Proxy, path: str) -> Any:
    answered = await ask(proxy.service.admin_url, "GET", f"/api/{path}")
    assert answer is not None
    assert answered.status == 200, answered.body
    return orjson.loads(answered.body)


def counters(metrics: Metrics) -> dict[tuple[str, str], float]:
    """Return whatever only grows."""
    ends = ("_total", "_count", "_sum", "_bucket")
    return {
        (one.name, str(sorted(one.labels.items()))): one.value
        for one in metrics.samples
        if one.name.endswith(ends)
    }


async def test_numbers(
    upstream: ScriptedUpstream, wall: Wall, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Counters are right and never fall, nothing is negative, the past has no future."""
    state = tmp_path / "state.json"
    options: dict[str, Any] = {
        "backend": "llama_cpp",
        "scrape": True,
        "scrape_seconds": OFTEN,
        "state_file": str(state),
    }
    upstream.scripts["/metrics"] = page("llamacpp:tokens_predicted_total 100\n")
    before: dict[tuple[str, str], float] = {}
    with caplog.at_level(logging.WARNING, "specmeter"):
        async with running(upstream.url, **options) as proxy:
            for number, step in enumerate([0.0, *STEPS], start=1):
                wall.ahead += step
                for drafted in (0, 20) * EACH:
                    upstream.script = answer(response(completion(drafted=drafted)))
                    assert (await chat(proxy.url, CHAT_BODY)).status == 200
                metrics = await proxy.metrics()
                now = counters(metrics)
                assert [key for key, value in before.items() if now.get(key, -1) < value] == []
                assert [one for one in metrics.samples if one.value < 0] == []
                before = now
                asked = number * EACH
                assert metrics.by("completions_total", "speculation") == {
                    "drafted": asked,
                    "not_drafted": asked,
                }
                assert metrics.total("decode_seconds_total") == pytest.approx(asked * 2 * 0.8)
                await the_past_is_sane(proxy, wall(), step)
    assert caplog.records == []
    assert decode(state.read_bytes()).entries  # what was learned can be read again


async def the_past_is_sane(proxy: Proxy, now: float, step: float) -> None:
    """See that the page shows what came since the last step, in order, and nothing later."""
    summary = await api(proxy, "summary?range=5m")
    assert abs(summary["at"] - now) < HOUR
    (model,) = summary["models"]
    for name in RANGES:
        query = f"series?upstream=default&model={model['model']}&range={name}"
        points = (await api(proxy, query))["points"]
        times = [point["at"] for point in points]
        assert times == sorted(times)
        assert abs(times[-1] - now) < HOUR
        shown = [point.get("completions", 0) for point in points]
        assert min(shown) >= 0
        if -60 < step < 0:
            continue  # taken for completions that come late: shown once the clock is there again
        assert sum(shown[-2:]) >= 2 * EACH  # a step may have begun meanwhile
