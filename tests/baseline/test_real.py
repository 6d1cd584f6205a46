"""`specmeter baseline` on real llama.cpp servers."""

from pathlib import Path

import pytest

from specmeter.demo.llama_server import LlamaServer
from specmeter.speedup.measured import MeasuredBaseline
from specmeter.speedup.strata import Conditions
from specmeter.speedup.table_file import load_table
from tests.command import names, run

pytestmark = pytest.mark.asyncio(loop_scope="session")

SMALL = ("--contexts", "96,256,4096", "--concurrency", "1,2,3", "--tokens", "8")


async def test_a_plain_server_is_measured(plain_llama: LlamaServer, tmp_path: Path) -> None:
    """What fits its window and slots, at the contexts that were wanted; the estimate can use it."""
    out = tmp_path / "baseline.json"
    words = ("baseline", "--upstream", plain_llama.url, "--out", out, *SMALL)
    done = await run(*words, "--repeats", "1")
    assert done.code == 0, done.err
    assert "context 4096 is left out" in done.err
    assert "3 in flight is left out: the server works on 2 at a time" in done.err
    table = load_table(out)
    for wanted in (96, 256):
        met = [point for point in table.points if abs(point.context - wanted) < wanted / 5]
        assert sorted(point.in_flight for point in met) == [1, 2]
    known = MeasuredBaseline(table).plain_speed(Conditions.of(200, 1), 64, table.measured_at)
    assert 0.001 < known.seconds_per_token < 1


@pytest.fixture(params=["ngram_mod_llama", "draft_simple_llama"])
def speculating(request: pytest.FixtureRequest) -> LlamaServer:
    """Give a server of each kind in turn."""
    server: LlamaServer = request.getfixturevalue(request.param)
    return server


async def test_a_server_that_speculates_is_refused(
    speculating: LlamaServer, tmp_path: Path
) -> None:
    """Its /slots says so before anything is asked."""
    done = await run("baseline", "--upstream", speculating.url, "--out", tmp_path / "out")
    assert done.code == 1
    assert "says that speculation is on" in done.err
    assert names(tmp_path) == []
