"""The live speedup on real servers; `python -m tests.benchmarks.agreement` tries all sources."""

from pathlib import Path

import pytest

from specmeter.demo.llama_server import LlamaServer
from specmeter.speedup.baseline import Source
from specmeter.speedup.interval import Verdict
from tests.real.agreement import live_speedup

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_model_that_drafts_for_itself_is_said_to_be_slower(
    draft_simple_llama: LlamaServer, plain_llama: LlamaServer, tmp_path: Path
) -> None:
    """Within 20 requests, against replays of the same requests on a plain server."""
    found, said_after = await live_speedup(
        draft_simple_llama,
        plain_llama,
        Source.SHADOW,
        tmp_path,
        tokens=32,
        compared_completions=14,
    )
    assert found.ratio < 1
    assert found.verdict is Verdict.SLOWER
    assert 0 < said_after <= 20
