"""`specmeter baseline` on servers that answer by script."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from specmeter.speedup.table_file import load_table
from tests.command import Done, end, names, run, start
from tests.measured import (
    MODELS,
    Reply,
    completion,
    dies,
    measured,
    refusal,
    steady,
    untimed,
    without_stream,
)
from tests.scripted import Call, Script, answer, response

SMALL = ("--contexts", "64,128", "--concurrency", "1,2", "--tokens", "16", "--repeats", "2")
WARM_UPS = 3


async def baseline(reply: Reply, out: Path, *flags: str | Path, models: bytes = MODELS) -> Done:
    async with measured(reply, models=models) as server:
        return await run("baseline", "--upstream", server.url, "--out", out, *SMALL, *flags)


def slower_with_context(body: dict[str, Any], _: int) -> Script:
    words = len(body["messages"][0]["content"].split())
    return completion(body, speed=100.0 if words < 90 else 50.0)


class TestMeasuring:
    async def test_the_file_holds_what_was_measured(self, tmp_path: Path) -> None:
        """Each context and load with its own speed, build and model; readable by everyone."""
        out = tmp_path / "baseline.json"
        done = await baseline(slower_with_context, out)
        assert done.code == 0, done.err
        table = load_table(out)
        assert (table.build, table.model) == ("b1-a", "m")
        assert {
            (point.context, point.in_flight): round(1 / point.seconds_per_token)
            for point in table.points
        } == {(64, 1): 100, (64, 2): 100, (128, 1): 50, (128, 2): 50}
        assert out.stat().st_mode & 0o777 == 0o644
        assert names(tmp_path) == ["baseline.json"]
        content = json.loads(out.read_bytes())
        assert content["backend"] == "llama_cpp"
        assert content["clock"] == "server"

    async def test_the_table_is_printed_with_its_spread(self, tmp_path: Path) -> None:
        """And each part as it is done, with the time that is left."""
        done = await baseline(slower_with_context, tmp_path / "out")
        assert "range ratio" in done.out
        assert "4 points of m, build b1-a" in done.out
        assert "1 of 8: context 64, 1 in flight: 100.0 tok/s; about" in done.err
        assert "8 of 8: " in done.err

    async def test_requests_go_on_to_the_full_length(self, tmp_path: Path) -> None:
        """Greedily; those in flight at the same time have prompts that share nothing."""
        bodies: list[dict[str, Any]] = []

        def keep(body: dict[str, Any], _: int) -> Script:
            bodies.append(body)
            return completion(body)

        await baseline(keep, tmp_path / "out")
        assert all(body["ignore_eos"] is True for body in bodies)
        assert {body["temperature"] for body in bodies} == {0}
        assert {body["max_tokens"] for body in bodies[WARM_UPS:]} == {1, 16}
        assert len({body["messages"][0]["content"][:7] for body in bodies}) == 2

    async def test_a_server_that_reports_little_is_timed_by_its_stream(
        self, tmp_path: Path
    ) -> None:
        """It gets no switch that it may refuse, and what is not known is told."""
        bodies: list[dict[str, Any]] = []

        def keep(body: dict[str, Any], _: int) -> Script:
            bodies.append(body)
            return untimed(body)

        done = await baseline(keep, tmp_path / "out", models=b"{}")
        assert done.code == 0, done.err
        assert not any("ignore_eos" in body or "model" in body for body in bodies)
        assert "the server says nothing of drafting" in done.err
        assert "the server gives no decode times" in done.err
        assert json.loads((tmp_path / "out").read_bytes())["clock"] == "proxy"

    async def test_what_does_not_fit_is_left_out(self, tmp_path: Path) -> None:
        """By the window that the server tells."""
        models = MODELS.replace(b"4096", b"100")
        done = await baseline(steady(), tmp_path / "out", models=models)
        assert done.code == 0
        assert "context 128 is left out" in done.err
        assert {point.context for point in load_table(tmp_path / "out").points} == {64}

    async def test_what_the_server_refuses_is_left_out(self, tmp_path: Path) -> None:
        """Where it does not tell its window."""

        def small(body: dict[str, Any], at: int) -> Script:
            words = len(body["messages"][0]["content"].split())
            return refusal() if at >= WARM_UPS and words > 100 else completion(body)

        models = b'{"data":[{"id":"m","owned_by":"llamacpp"}]}'
        done = await baseline(small, tmp_path / "out", models=models)
        assert done.code == 0, done.err
        assert "contexts from 128 on are left out" in done.err
        assert {point.context for point in load_table(tmp_path / "out").points} == {64}

    async def test_an_old_file_is_replaced_at_the_end(self, tmp_path: Path) -> None:
        """In one go."""
        out = tmp_path / "out"
        out.write_text("old", encoding="utf-8")
        done = await baseline(steady(), out)
        assert done.code == 0
        assert load_table(out).model == "m"

    async def test_answers_that_end_early_are_told(self, tmp_path: Path) -> None:
        """Where a server cannot be made to go on."""
        done = await baseline(steady(tokens=9), tmp_path / "out", "--tokens", "32")
        assert done.code == 0, done.err
        assert "answers ended before 32 tokens" in done.err


class TestRefusals:
    @pytest.mark.parametrize("at_first", [0, 6])
    async def test_a_server_that_drafts(self, tmp_path: Path, at_first: int) -> None:
        """From the first request on or later: no file is written, and the remedy is told."""

        def drafting(body: dict[str, Any], at: int) -> Script:
            return completion(body, drafted=8 if at >= at_first else 0, accepted=4)

        done = await baseline(drafting, tmp_path / "out")
        assert done.code == 1
        assert "is drafting (8 tokens in one answer)" in done.err
        assert "start it without speculation" in done.err
        assert names(tmp_path) == []

    async def test_a_server_without_decode_times(self, tmp_path: Path) -> None:
        """Neither reported nor to be seen in a stream."""
        done = await baseline(lambda body, _: without_stream(body), tmp_path / "out")
        assert done.code == 1
        assert "have no decode times" in done.err

    @pytest.mark.parametrize(
        ("fault", "said"),
        [(dies(), "gave no answer"), (refusal("500 Internal Server Error"), "HTTP 500")],
    )
    async def test_a_server_that_fails_midway(
        self, tmp_path: Path, fault: Script, said: str
    ) -> None:
        """What was measured is told, the former file stays, and none is left half-written."""
        out = tmp_path / "out"
        out.write_text("old", encoding="utf-8")

        def failing(body: dict[str, Any], at: int) -> Script:
            return completion(body) if at < 7 else fault

        done = await baseline(failing, out)
        assert done.code == 1
        assert said in done.err
        assert "measured before it ended, and not written:" in done.out
        assert "50.0" in done.out
        assert out.read_text(encoding="utf-8") == "old"
        assert names(tmp_path) == ["out"]

    async def test_answers_too_short_to_tell_a_speed(self, tmp_path: Path) -> None:
        """The error says after how many tokens."""
        done = await baseline(steady(tokens=4), tmp_path / "out")
        assert done.code == 1
        assert "ended an answer after 4 of 16 tokens" in done.err

    async def test_nothing_that_fits(self, tmp_path: Path) -> None:
        """There is nothing to write."""
        done = await baseline(steady(), tmp_path / "out", "--contexts", "100000")
        assert done.code == 1
        assert "nothing is left to measure" in done.err

    async def test_a_vllm_that_has_a_drafter(self, tmp_path: Path) -> None:
        """Its metrics page has counters of drafting, though its answers may say nothing."""
        page = b"vllm:generation_tokens_total 1\nvllm:spec_decode_num_drafts_total 0\n"
        models = b'{"data":[{"id":"m","owned_by":"vllm","max_model_len":2048}]}'
        async with measured(steady(), models=models) as server:
            server.scripts["/metrics"] = answer(response(page))
            words = ("--upstream", server.url, "--out", tmp_path / "out")
            done = await run("baseline", *words, *SMALL)
        assert done.code == 1
        assert "says that speculation is on" in done.err
        assert names(tmp_path) == []

    async def test_a_server_that_wants_a_key(self, tmp_path: Path) -> None:
        """The error names the flag."""
        async with measured(steady()) as server:
            server.scripts["/v1/models"] = refusal("401 Unauthorized")
            words = ("--upstream", server.url, "--out", tmp_path / "out")
            done = await run("baseline", *words, *SMALL)
        assert done.code == 1
        assert "HTTP 401: name a file with its key by --api-key-file" in done.err

    async def test_an_interrupt_tells_what_was_measured(self, tmp_path: Path) -> None:
        """Ctrl-C in the middle: the table so far, no file, and a shell's exit code for it."""

        async def forever(call: Call) -> None:
            await call.body()
            process.send_signal(signal.SIGINT)
            await call.gone()

        def hanging(body: dict[str, Any], at: int) -> Script:
            return completion(body) if at < 7 else forever

        async with measured(hanging) as server:
            words = ("--upstream", server.url, "--out", tmp_path / "out")
            process = await start("baseline", *words, *SMALL)
            done = await end(process)
        assert done.code == 130
        assert "measured before it ended, and not written:" in done.out
        assert "50.0" in done.out
        assert names(tmp_path) == []

    @pytest.mark.parametrize(
        ("out", "said"),
        [("none/out", "is no folder"), (".", "is a folder")],
    )
    async def test_a_place_that_cannot_be_written(
        self, tmp_path: Path, out: str, said: str
    ) -> None:
        """Found out before anything is measured."""
        url = "http://127.0.0.1:9"
        done = await run("baseline", "--upstream", url, "--out", tmp_path / out)
        assert done.code == 2
        assert said in done.err
