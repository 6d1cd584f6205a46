"""`specmeter compare` on real llama.cpp servers."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from specmeter.demo.llama_server import LlamaServer
from tests.command import run

pytestmark = pytest.mark.asyncio(loop_scope="session")

CODE = "def f(a):\n    return a+1\n\n" * 5
PROMPTS = {
    "code": f"Repeat this code ten times:\n\n{CODE}",
    "prose": "Write a short story about a bridge in the fog.",
}


def written(folder: Path, *names: str) -> Path:
    """Write a file of prompts."""
    path = folder / "prompts.jsonl"
    lines = ({"name": name, "prompt": PROMPTS[name]} for name in names)
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    return path


async def compared(spec: LlamaServer, plain: LlamaServer, *flags: str | Path) -> Any:
    words = ("--spec", spec.url, "--plain", plain.url, "--repeat", "2", "--json")
    done = await run("compare", *words, *flags)
    assert done.code == 0, done.err
    return json.loads(done.out)


async def test_a_model_that_drafts_for_itself_is_right_nearly_always(
    draft_simple_llama: LlamaServer, plain_llama: LlamaServer, tmp_path: Path
) -> None:
    """And its outputs are those of the plain server; how fast it is, is no matter for a test."""
    flags = ("--prompts", written(tmp_path, "code", "prose"), "--lengths", "16")
    content = await compared(draft_simple_llama, plain_llama, *flags)
    spec, plain = content["servers"]["spec"], content["servers"]["plain"]
    assert spec["acceptance"]["value"] > 0.9
    assert spec["output_per_target_step"]["value"] > 2.5
    assert spec["completions_drafted"] == spec["completions"] == 4
    assert plain["completions_drafted"] == 0
    overall = content["overall"]
    assert 0 < overall["worst_case"] <= overall["speedup"] <= overall["best_case"]
    assert {one["outputs"] for one in content["cells"]} == {"identical"}
    assert content["builds"] == "the same build"


async def test_drafts_from_repeated_text_bring_back_several_tokens_a_step(
    ngram_mod_llama: LlamaServer, plain_llama: LlamaServer, tmp_path: Path
) -> None:
    """The code is drafted, and each number is there with what it was divided from."""
    flags = ("--prompts", written(tmp_path, "code"), "--lengths", "72")
    content = await compared(ngram_mod_llama, plain_llama, *flags)
    spec = content["servers"]["spec"]
    assert spec["speculates"] is True
    assert spec["drafts"].startswith("drafted in ")
    assert spec["output_per_target_step"]["value"] > 1.2
    assert spec["acceptance"]["accepted"] <= spec["acceptance"]["drafted"]
    assert content["new_prompts"]["prompts"] == 1


async def test_a_speculating_server_is_no_plain_one(
    draft_simple_llama: LlamaServer, ngram_mod_llama: LlamaServer
) -> None:
    """It is refused before anything is asked, by what its /slots says."""
    done = await run("compare", "--spec", draft_simple_llama.url, "--plain", ngram_mod_llama.url)
    assert done.code == 1
    assert "says that speculation is on" in done.err
    assert done.out == ""
