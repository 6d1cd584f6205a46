"""`specmeter log`, run as a real process."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

import specmeter
from tests.serverlog import test_ollama
from tests.serverlog.logs import CAPTURES, lines, new_form

ROOT = Path(specmeter.__file__).parents[1]
NGRAM = CAPTURES / "llama_cpp" / "ngram-mod" / "server.log"
PLAIN = CAPTURES / "llama_cpp" / "plain" / "server.log"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "specmeter", "log", *map(str, words)]


def run(*words: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(*words), input=stdin, capture_output=True, env=ENVIRONMENT, timeout=60, check=False
    )


class TestOutput:
    """What it prints."""

    def test_the_two_line_form(self) -> None:
        """From standard input: acceptance 0.648, average draft 1.89, output per step 2.23."""
        done = run("-", stdin=test_ollama.TWO_LINES)
        assert (done.returncode, done.stderr) == (0, b"")
        text = done.stdout.decode()
        assert "0.648 = 70 accepted / 108 drafted" in text
        assert "1.89 = 108 drafted / 57 target steps" in text
        assert "2.23 = 127 tokens / 57 target steps" in text

    def test_a_file(self) -> None:
        """Every request of a server's log, a total row, and notes on stderr."""
        done = run(NGRAM)
        assert done.returncode == 0
        rows = done.stdout.decode().split("\n\n")[0].splitlines()
        assert len(rows) == 1 + 16 + 1
        assert rows[-1].startswith("total")
        assert b"specmeter: note: 2 requests ended without numbers" in done.stderr

    def test_sort_and_limit(self) -> None:
        """The rows of one order, and how many are left out."""
        done = run(NGRAM, "--sort", "output-per-step", "--limit", "3")
        rows = done.stdout.decode().splitlines()[1:4]
        assert [row.split()[-3] for row in rows] == ["24.00", "24.00", "12.00"]
        assert b"13 rows are left out; --limit shows more" in done.stderr
        done = run(NGRAM, "--sort", "output-per-step", "--limit", "2", "--reverse")
        assert [row.split()[-3] for row in done.stdout.decode().splitlines()[1:3]] == ["1.00"] * 2

    def test_json(self) -> None:
        """One object, whose totals are over all records, also if only some are shown."""
        done = run(NGRAM, "--json")
        parsed = json.loads(done.stdout)
        assert len(parsed["entries"]) == 16
        assert parsed["totals"][0]["drafted_tokens"] == 748
        assert parsed["diagnosis"] is None
        assert parsed["requests_without_numbers"] == 2
        few = json.loads(run(NGRAM, "--json", "--limit", "2", "--sort", "steps").stdout)
        assert [entry["target_steps"] for entry in few["entries"]] == [52, 30]
        assert few["totals"] == parsed["totals"]
        assert few["rows_left_out"] == 14

    def test_csv(self) -> None:
        """One row a request."""
        rows = list(csv.DictReader(io.StringIO(run(NGRAM, "--csv").stdout.decode())))
        assert len(rows) == 16
        assert rows[0]["output_per_target_step"] == "4.266667"

    def test_a_long_log_has_a_short_table(self) -> None:
        """Only the last rows of a long log are shown, and the totals are of all."""
        log = lines(*(text for task in range(300) for text in new_form(task=task)))
        done = run("-", stdin=log)
        text = done.stdout.decode()
        assert "llama.cpp: 300 requests" in text
        assert len(text.splitlines()) < 70
        assert b"250 rows are left out" in done.stderr

    def test_bytes_of_any_kind(self) -> None:
        """Names that are no text are shown as far as they are."""
        log = b"".join(b"caf\xc3\xa9-\xff  | " + text.encode() + b"\n" for text in new_form())
        assert run("-", stdin=log).returncode == 0


class TestExitCodes:
    """0: numbers; 1: nothing drafted; 2: not to be read."""

    def test_nothing_drafted(self) -> None:
        """The diagnosis says which step failed, on stderr and in JSON."""
        done = run(PLAIN)
        assert done.returncode == 1
        assert b"specmeter: diagnosis: 3. lines about drafts: no" in done.stderr
        parsed = json.loads(run(PLAIN, "--json").stdout)
        assert parsed["diagnosis"]["failed"] == "lines about drafts: no"

    def test_an_empty_log(self) -> None:
        """Nothing at all: exit code 1, and valid JSON."""
        done = run("-", "--json")
        assert done.returncode == 1
        assert json.loads(done.stdout)["entries"] == []

    @pytest.mark.parametrize("name", ["missing.log", "."])
    def test_not_readable(self, name: str, tmp_path: Path) -> None:
        """A file that cannot be read: exit code 2, its name, and what to do."""
        done = run(tmp_path / name)
        assert done.returncode == 2
        assert name.strip(".") in done.stderr.decode()
        assert b"cannot be read: " in done.stderr
        assert b"Traceback" not in done.stderr

    @pytest.mark.parametrize(
        "words", [("--limit", "-1"), ("--limit", "x"), ("--sort", "colour"), ("--json", "--csv")]
    )
    def test_usage(self, words: tuple[str, ...]) -> None:
        """A flag that is none: exit code 2."""
        assert run(NGRAM, *words).returncode == 2

    def test_a_reader_that_goes_away(self) -> None:
        """`| head` ends it without a word."""
        log = lines(*(text for task in range(20_000) for text in new_form(task=task)))
        with subprocess.Popen(
            command("-", "--csv"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
        ) as process:
            assert process.stdin
            assert process.stdout
            assert process.stderr
            feeder = threading.Thread(target=feed, args=(process.stdin, log))
            feeder.start()
            process.stdout.readline()
            process.stdout.close()
            feeder.join()
            assert process.wait(timeout=60) == 141
            assert process.stderr.read() == b""


def feed(stream: IO[bytes], log: bytes) -> None:
    """Write until the other side goes away."""
    with suppress(BrokenPipeError):
        stream.write(log)
        stream.close()


class TestTerminal:
    """On a terminal."""

    def test_a_slow_log_has_a_progress_bar(self) -> None:
        """Reading that takes over two seconds is seen on stderr, and leaves nothing behind."""
        leader, follower = pty.openpty()
        with subprocess.Popen(
            command("-"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=follower,
            env={**ENVIRONMENT, "TERM": "xterm"},
        ) as process:
            os.close(follower)
            assert process.stdin
            log = lines(*new_form())
            for _ in range(6):
                process.stdin.write(log)
                process.stdin.flush()
                threading.Event().wait(0.5)
            process.stdin.close()
            assert process.stdout
            shown = process.stdout.read()
            said = drain(leader)
        assert b"reading the log" in said
        assert b"llama.cpp: 6 requests" in shown

    def test_a_quick_one_has_none(self) -> None:
        """No bar, no control characters."""
        leader, follower = pty.openpty()
        with subprocess.Popen(
            command(NGRAM), stdout=subprocess.PIPE, stderr=follower, env=ENVIRONMENT
        ) as process:
            os.close(follower)
            assert process.stdout
            process.stdout.read()
            said = drain(leader)
        assert b"reading" not in said
        assert b"\x1b" not in said


def drain(leader: int) -> bytes:
    """Read what a process wrote to its terminal, which ended."""
    said = b""
    try:
        while piece := os.read(leader, 65536):
            said += piece
    except OSError:
        pass  # Linux's way to say that the other side is closed
    finally:
        os.close(leader)
    return said
