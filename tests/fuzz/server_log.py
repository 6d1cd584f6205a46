"""`python -m tests.fuzz.server_log --seconds 600`: damage logs at random until reading one fails.

Each round makes one log from real ones, with a random generator of its own: the failing round's
name makes the same log again (`--round SEED:NUMBER`). A log must be read without an error, give
the same in any pieces, no impossible number, and a report.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from specmeter.serverlog.diagnosis import diagnose
from specmeter.serverlog.entry import Entry
from specmeter.serverlog.export import CsvExport, JsonExport
from specmeter.serverlog.notes import notes
from specmeter.serverlog.report import table, totals_lines
from specmeter.serverlog.rows import SORT_KEYS, Rows
from specmeter.serverlog.totals import Totals
from tests.serverlog.logs import Log, capture, pieces, read
from tests.serverlog.test_lines import WRAPPERS
from tests.serverlog.test_splits import TEXTS

_MOST_BYTES = 60_000
_CAPTURES = ("llama_cpp/draft-simple", "llama_cpp/ngram-mod", "llama_cpp/plain", "vllm")
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_ODD_NUMBERS = (
    b"0",
    b"-1",
    b"nan",
    b"inf",
    b"null",
    b"1e308",
    b"99999999999999999999",
    b"9" * 5000,
    b"0.",
    b".5",
    b"1_0",
    b"\xd9\xa3",
    b"",
)

Change = Callable[[random.Random, bytes], bytes]


def main() -> None:
    """Run as the command line says; exit code 1 if a log failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.server_log", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=None, help="default: the clock")
    parser.add_argument("--round", metavar="SEED:NUMBER", help="only this one")
    arguments = parser.parse_args()
    if arguments.round is not None:
        sys.exit(0 if _passes(arguments.round) else 1)
    seed = time.time_ns() % 1_000_000_007 if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    done = 0
    for name in _rounds(seed, arguments.seconds):
        if not _passes(name):
            print(f"failed: python -m tests.fuzz.server_log --round {name}")
            sys.exit(1)
        done += 1
    print(f"{done} logs read, none failed")


def _rounds(seed: int, seconds: float) -> Iterator[str]:
    """Give the rounds their names until the time is over."""
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with progress:
        task = progress.add_task("damaging logs", total=seconds)
        begun = time.monotonic()
        number = 0
        while (passed := time.monotonic() - begun) < seconds:
            progress.update(task, completed=passed, description=f"{number} logs damaged")
            yield f"{seed}:{number}"
            number += 1


def _passes(name: str) -> bool:
    generator = random.Random(name)
    log = _damaged(generator)
    try:
        whole = read(log)
        _check(whole)
        places = [generator.randrange(len(log) + 1) for _ in range(generator.randrange(6))]
        _compare(whole, read(*pieces(log, places)), places)
        _report(whole)
    except Exception:  # noqa: BLE001 - any error at all is what is looked for
        traceback.print_exc()
        return False
    return True


def _compare(whole: Log, split: Log, places: list[int]) -> None:
    """Demand that the pieces do not matter."""
    if (split.entries, split.counters) != (whole.entries, whole.counters):
        raise AssertionError(f"not the same in pieces cut at {places}")


def _check(log: Log) -> None:
    """Demand that every number is possible."""
    for entry in log.entries:
        reading, rounds = entry.reading, entry.rounds
        drafted, accepted = reading.drafted, reading.accepted
        if (drafted is None) != (accepted is None):
            raise AssertionError(f"half a pair: {entry}")
        if drafted is not None and accepted is not None and not 0 <= accepted <= drafted:
            raise AssertionError(f"impossible: {entry}")
        if entry.output_per_step is not None and entry.output_per_step < 1:
            raise AssertionError(f"less than a token a step: {entry}")
        if rounds is not None and not 1 <= rounds.low <= rounds.high:
            raise AssertionError(f"impossible rounds: {entry}")


def _report(log: Log) -> None:
    """Make everything that the command makes of records."""
    by_server: dict[str, Totals] = {}
    json_out, csv_out = io.StringIO(), io.StringIO()
    exports = (JsonExport(json_out), CsvExport(csv_out))
    for entry in log.entries:
        known = by_server.setdefault(entry.server, Totals(entry.server, is_window=entry.is_window))
        known.add(entry)
        for export in exports:
            export.add(entry)
    totals = list(by_server.values())
    for export in exports:
        export.close(totals, {"notes": list(notes(log.reader, totals))})
    json.loads(json_out.getvalue())
    diagnosis = diagnose(log.reader, totals)
    if (diagnosis is None) != any(total.drafted_entries for total in totals):
        raise AssertionError("a diagnosis beside drafts, or neither")
    kept = _sorted(log.entries)
    if kept:
        for width in (None, 80):
            table(kept, totals, width)
    for total in totals:
        list(totals_lines(total))


def _sorted(entries: list[Entry]) -> list[Entry]:
    rows = Rows(10)
    for key in SORT_KEYS:
        rows = Rows(10, key)
        for entry in entries:
            rows.add(entry)
    return rows.kept()


def _damaged(generator: random.Random) -> bytes:
    """Make a log of real lines, and change it a few times."""
    log = _source(generator)
    for _ in range(generator.choice((0, 1, 1, 2, 3, 5, 8, 30))):
        log = generator.choice(_CHANGES)(generator, log)[:_MOST_BYTES]
    return log


def _source(generator: random.Random) -> bytes:
    if generator.random() < 0.3:
        lines = capture(generator.choice(_CAPTURES)).splitlines(keepends=True)
        start = generator.randrange(len(lines))
        return b"".join(lines[start : start + generator.randrange(1, 60)])
    texts = generator.choices(TEXTS, k=generator.randrange(1, 12))
    log = "".join(f"{text}\n" for text in texts)
    return _wrap(generator, log.encode()) if generator.random() < 0.5 else log.encode()


def _wrap(generator: random.Random, log: bytes) -> bytes:
    wrap, _, _ = WRAPPERS[generator.choice(list(WRAPPERS))]
    lines = log.decode("utf-8", "replace").split("\n")
    return "".join(f"{wrap(line)}\n" for line in lines).encode("utf-8", "replace")


def _flip(generator: random.Random, log: bytes) -> bytes:
    place = generator.randrange(len(log) + 1)
    return log[:place] + generator.randbytes(1) + log[place + 1 :]


def _drop(generator: random.Random, log: bytes) -> bytes:
    place = generator.randrange(len(log) + 1)
    return log[:place] + log[place + generator.choice((1, 2, 10, 200)) :]


def _double(generator: random.Random, log: bytes) -> bytes:
    place = generator.randrange(len(log) + 1)
    size = generator.choice((1, 5, 100, 1000))
    return log[: place + size] + log[place:]


def _insert(generator: random.Random, log: bytes) -> bytes:
    place = generator.randrange(len(log) + 1)
    odd = generator.choice((b"\n", b"\r", b"\0", b"{", b'{"', b"\x1b[0m", b"|", b": id 1", b"="))
    return log[:place] + odd + log[place:]


def _odd_number(generator: random.Random, log: bytes) -> bytes:
    numbers = list(_NUMBER.finditer(log))
    if not numbers:
        return log
    found = generator.choice(numbers)
    return log[: found.start()] + generator.choice(_ODD_NUMBERS) + log[found.end() :]


def _shuffle(generator: random.Random, log: bytes) -> bytes:
    lines = log.splitlines(keepends=True)
    place = generator.randrange(len(lines) + 1)
    few = lines[place : place + 8]
    generator.shuffle(few)
    return b"".join((*lines[:place], *few, *lines[place + 8 :]))


def _double_lines(generator: random.Random, log: bytes) -> bytes:
    lines = log.splitlines(keepends=True)
    return b"".join(line * generator.choice((1, 1, 1, 2)) for line in lines)


def _interleave(generator: random.Random, log: bytes) -> bytes:
    lines = log.splitlines(keepends=True)
    others = _source(generator).splitlines(keepends=True)
    for line in others:
        lines.insert(generator.randrange(len(lines) + 1), line)
    return b"".join(lines)


def _append(generator: random.Random, log: bytes) -> bytes:
    return log + _source(generator)


_CHANGES: tuple[Change, ...] = (
    _flip,
    _drop,
    _double,
    _insert,
    _odd_number,
    _shuffle,
    _double_lines,
    _interleave,
    _append,
    _wrap,
)


if __name__ == "__main__":
    main()
