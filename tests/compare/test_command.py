"""`specmeter compare` on servers that answer by script."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import Done, run
from tests.measured import (
    Reply,
    completion,
    dies,
    measured,
    refusal,
    steady,
    without_stream,
)
from tests.scripted import Script

SECRET = "the moon is a balloon"
SHORT = ("--lengths", "32", "--repeat", "3", "--seed", "1")


async def compared(spec: Reply, plain: Reply, *flags: str | Path) -> Done:
    async with measured(spec) as ours, measured(plain) as theirs:
        return await run("compare", "--spec", ours.url, "--plain", theirs.url, *SHORT, *flags)


async def as_json(spec: Reply, plain: Reply, *flags: str | Path) -> Any:
    done = await compared(spec, plain, "--json", *flags)
    assert done.code == 0, done.err
    return json.loads(done.out)


def drafting(**more: Any) -> Reply:
    return steady(**{"speed": 200.0, "drafted": 30, "accepted": 24, **more})


class TestVerdict:
    async def test_a_faster_server(self) -> None:
        """Every cell and the whole are faster, and outputs identical."""
        content = await as_json(drafting(), steady())
        assert content["overall"]["verdict"] == "faster"
        assert content["overall"]["speedup"] == pytest.approx(4)
        assert {one["verdict"] for one in content["cells"]} == {"faster"}
        assert {one["outputs"] for one in content["cells"]} == {"identical"}
        assert [one["prompt"] for one in content["cells"]] == ["code", "prose", "list"]
        spec = content["servers"]["spec"]
        assert spec["acceptance"] == {"value": 0.8, "accepted": 24 * 9, "drafted": 30 * 9}
        assert spec["output_per_target_step"] == {"value": 4, "tokens": 32 * 9, "steps": 8 * 9}
        assert spec["build"] == "b1-a"
        assert content["builds"] == "the same build"

    async def test_noise_that_is_larger_than_the_difference(self, tmp_path: Path) -> None:
        """Speeds that go up and down more than the servers differ cannot be told."""
        (tmp_path / "one").write_text("a prompt", encoding="utf-8")

        def noisy(factor: float) -> Reply:
            speeds = (40.0, 47.0, 50.0)
            return lambda body, at: completion(body, speed=factor * speeds[at % 3])

        content = await as_json(noisy(1.12), noisy(1.0), "--prompts", tmp_path / "one")
        (cell,) = content["cells"]
        assert cell["verdict"] == content["overall"]["verdict"] == "cannot_tell"
        assert cell["speedup"] == pytest.approx(1.12)
        assert cell["plain_tokens_per_second"]["range_ratio"] == pytest.approx(1.25)
        assert content["servers"]["spec"]["drafts"].startswith("nothing was drafted")

    async def test_other_outputs_are_told(self) -> None:
        """By hash: the texts themselves are nowhere in what is printed."""
        done = await compared(drafting(text=SECRET), steady(text="else"))
        assert done.code == 0
        assert "outputs differ in 3 of 3 cells" in done.out
        assert SECRET not in done.out + done.err

    async def test_both_servers_are_warmed_up_and_interleaved(self) -> None:
        """One more request than runs each, and no runs of one server before all of the other."""
        order: list[str] = []

        def noted(name: str, reply: Reply) -> Reply:
            def noting(body: dict[str, Any], at: int) -> Script:
                order.append(name)
                return reply(body, at)

            return noting

        await as_json(noted("s", drafting()), noted("p", steady()))
        assert (order.count("s"), order.count("p")) == (10, 10)
        assert order[:2] == ["s", "p"]
        assert re.search("sp.*sp.*sp", "".join(order[2:]))

    async def test_concurrent_requests_run_together(self) -> None:
        """As many at a time as wanted, and all of them count."""
        content = await as_json(drafting(), steady(), "--concurrency", "3")
        assert content["servers"]["plain"]["completions"] == 27
        assert content["concurrency"] == 3

    async def test_own_prompts(self, tmp_path: Path) -> None:
        """From a file; what they say is not printed."""
        path = tmp_path / "mine.txt"
        path.write_text(f'{{"name": "mine", "prompt": "{SECRET}"}}\n{SECRET}\n', encoding="utf-8")
        done = await compared(drafting(), steady(), "--prompts", path, "--markdown")
        assert done.code == 0
        assert re.search(r"^\| mine \| 32 \|", done.out, re.MULTILINE)
        assert re.search(r"^\| line 2 \| 32 \|", done.out, re.MULTILINE)
        assert SECRET not in done.out + done.err

    async def test_requests_are_greedy_and_bypass_the_prompt_cache(self) -> None:
        """So that texts can be compared; the length is the most that is asked for."""
        bodies: list[dict[str, Any]] = []

        def keep(body: dict[str, Any], at: int) -> Script:
            bodies.append(body)
            return steady()(body, at)

        await as_json(keep, steady())
        runs = bodies[1:]
        assert {body["temperature"] for body in bodies} == {0}
        assert {body["cache_prompt"] for body in runs} == {False}
        assert {body["max_tokens"] for body in runs} == {32}
        assert {body["model"] for body in bodies} == {"m"}


class TestFaults:
    async def test_a_plain_server_that_drafts_is_refused(self) -> None:
        """There would be nothing to compare with."""
        done = await compared(drafting(), drafting())
        assert done.code == 1
        assert "is drafting (30 tokens in one answer)" in done.err
        assert "start it without speculation" in done.err
        assert done.out == ""

    async def test_a_plain_server_that_drafts_later_is_refused(self) -> None:
        """Even where its first answers show nothing; what was measured is printed."""

        def sometimes(body: dict[str, Any], at: int) -> Script:
            return completion(body, drafted=30 if at == 5 else 0)

        done = await compared(drafting(), sometimes)
        assert done.code == 1
        assert "the plain server" in done.err
        assert "broken off before its end" in done.out

    @pytest.mark.parametrize(
        ("fault", "said"),
        [
            (dies(), "gave no answer"),
            (refusal("500 Internal Server Error"), "answered HTTP 500"),
            (refusal("429 Too Many Requests"), "otherwise idle"),
        ],
    )
    async def test_a_server_that_fails_midway(self, fault: Script, said: str) -> None:
        """The error names server and remedy, and what was measured is printed as broken off."""

        def failing(body: dict[str, Any], at: int) -> Script:
            return completion(body) if at < 7 else fault

        done = await compared(drafting(), failing, "--json")
        assert done.code == 1
        assert "the plain server failed" in done.err
        assert said in done.err
        assert json.loads(done.out)["complete"] is False

    async def test_a_server_without_decode_times(self) -> None:
        """Neither reported nor to be seen in a stream: the error says what helps."""
        done = await compared(drafting(), lambda body, _: without_stream(body))
        assert done.code == 1
        assert "have no decode times" in done.err

    async def test_a_server_without_numbers(self) -> None:
        """No token counts, no speed."""
        done = await compared(lambda *_: refusal("200 OK"), steady())
        assert done.code == 1
        assert "the spec server" in done.err

    async def test_a_build_that_changes_midway(self) -> None:
        """Two builds are not one server."""

        def restarted(body: dict[str, Any], at: int) -> Script:
            return completion(body, build="b1-a" if at < 4 else "b2-b")

        done = await compared(restarted, steady())
        assert done.code == 1
        assert "b1-a, now b2-b: measure again" in done.err

    async def test_a_server_that_is_not_there(self) -> None:
        """The error names the URL."""
        async with measured(steady()) as gone:
            pass
        async with measured(steady()) as plain:
            done = await run("compare", "--spec", gone.url, "--plain", plain.url, *SHORT)
        assert done.code == 1
        assert f"{gone.url}: connection refused" in done.err

    async def test_answers_that_are_too_short(self) -> None:
        """They are left out, and there is no verdict from nothing."""
        done = await compared(drafting(tokens=3, drafted=0), steady())
        assert done.code == 0
        assert "verdict: none" in done.out
        assert "left out, as an answer ended after 3 tokens" in done.out


class TestUsage:
    @pytest.mark.parametrize(
        ("flags", "said"),
        [
            (("--plain", "http://localhost:9/v1"), "are the same server"),
            (("--plain", "ftp://h"), "--plain:"),
            (("--plain", "http://127.0.0.1:8", "--prompts", "/none"), "/none: cannot be read"),
            (("--plain", "http://127.0.0.1:8", "--api-key-file", "/none"), "cannot be read"),
            (("--plain", "http://127.0.0.1:8", "--api-key-file", "sk-1"), "is a key, not a path"),
            (("--plain", "http://127.0.0.1:8", "--lengths", "4"), "from 8 to"),
            (("--plain", "http://127.0.0.1:8", "--json", "--markdown"), "not allowed with"),
        ],
    )
    async def test_a_fault_is_told(self, flags: tuple[str, ...], said: str) -> None:
        """Exit code 2, and nothing is asked."""
        done = await run("compare", "--spec", "http://127.0.0.1:9", *flags)
        assert done.code == 2
        assert said in done.err

    async def test_two_models_of_one_server_can_be_compared(self) -> None:
        """As a router serves them."""
        asked: list[str] = []

        def by_model(body: dict[str, Any], _: int) -> Script:
            asked.append(body["model"])
            return completion(body, speed=100.0 if body["model"] == "fast" else 50.0)

        async with measured(by_model) as router:
            words = ("--spec", router.url, "--plain", router.url, *SHORT)
            models = ("--spec-model", "fast", "--plain-model", "slow", "--json")
            done = await run("compare", *words, *models)
        # One build and two models: a server may name in its answers what it likes.
        assert done.code == 0, done.err
        assert {"fast", "slow"} == set(asked)
        assert json.loads(done.out)["overall"]["speedup"] == pytest.approx(2)

    async def test_keys_go_to_their_servers_and_nowhere_else(self, tmp_path: Path) -> None:
        """Each server gets its own; none is printed."""
        for name in ("one", "two"):
            (tmp_path / name).write_text(f"key-{name}\n", encoding="utf-8")
        async with measured(drafting()) as spec, measured(steady()) as plain:
            words = ("--spec", spec.url, "--plain", plain.url, *SHORT)
            keys = ("--api-key-file", tmp_path / "one", "--plain-api-key-file", tmp_path / "two")
            done = await run("compare", *words, *keys)
            for server, key in ((spec, b"Bearer key-one"), (plain, b"Bearer key-two")):
                sent = {tuple(one.all(b"authorization")) for one in server.requests}
                assert sent == {(key,)}
        assert done.code == 0
        assert "key-" not in done.out + done.err
