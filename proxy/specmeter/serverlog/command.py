"""`specmeter log`: what a server's log says about drafting, by request or window, and in all."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any

import msgspec

from specmeter.errors import ConfigError
from specmeter.serverlog.blocks import BLOCK
from specmeter.serverlog.diagnosis import Diagnosis, diagnose
from specmeter.serverlog.entry import Entry
from specmeter.serverlog.export import CsvExport, Export, JsonExport
from specmeter.serverlog.notes import impossible, notes
from specmeter.serverlog.progress import ReadingProgress
from specmeter.serverlog.reader import LogReader
from specmeter.serverlog.report import table, totals_lines
from specmeter.serverlog.rows import SORT_KEYS, Rows
from specmeter.serverlog.totals import Totals

_TABLE_ROWS = 50
_SORTED_ROWS = 10_000  # of JSON and CSV: they have to be kept until the end
_BROKEN_PIPE = 141  # what a shell reports of a program whose reader went away


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.epilog = (
        "Reads logs of llama.cpp (also its router's, its forks' and Ollama's), Ollama's MLX "
        "runner, vLLM, SGLang and TabbyAPI, with whatever docker, compose, Kubernetes, journald "
        "or a JSON logger put around the lines. Exit code 0: there are numbers; 1: nothing was "
        "drafted; 2: the file cannot be read."
    )
    parser.add_argument("file", metavar="FILE", help="the log, or - for standard input")
    parser.add_argument(
        "--sort",
        choices=tuple(SORT_KEYS),
        metavar="KEY",
        help=f"greatest first; KEY is one of {', '.join(SORT_KEYS)} (default: as in the log)",
    )
    parser.add_argument("--reverse", action="store_true", help="with --sort: smallest first")
    parser.add_argument(
        "--limit",
        type=_count,
        metavar="N",
        help="rows to show: the last of the log, or with --sort the first of that order (default: "
        f"{_TABLE_ROWS} in the table, in JSON and CSV all, or {_SORTED_ROWS} if they are sorted); "
        "the totals are of all of them",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object, totals included")
    form.add_argument("--csv", action="store_true", help="one row a request or window, no totals")


def run(args: argparse.Namespace) -> int:
    """Read a log and report.

    Returns:
        0 if something was drafted, 1 if not.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        code = _run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still in the buffer must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return code


def _run(args: argparse.Namespace) -> int:
    reader = LogReader()
    totals: dict[str, Totals] = {}
    export = _export(args)
    rows = Rows(_limit(args), args.sort, smallest_first=args.reverse)
    # Nothing is to be kept: each record is written when it is found.
    streamed = export if args.limit is None and args.sort is None else None
    for entry in _entries(args.file, reader, is_streamed=streamed is not None):
        known = totals.get(entry.server)
        if known is None:
            known = totals[entry.server] = Totals(entry.server, is_window=entry.is_window)
        known.add(entry)
        (streamed or rows).add(entry)
    sums = list(totals.values())
    diagnosis = diagnose(reader, sums)
    if export is None:
        _print(rows, sums)
    else:
        for entry in rows.kept():
            export.add(entry)
        export.close(sums, _more(reader, rows, sums, diagnosis))
    for line in notes(reader, sums):
        _complain("note", line)
    if rows.left_out:
        _complain("note", f"{rows.left_out} rows are left out; --limit shows more")
    for line in diagnosis.lines() if diagnosis else ():
        _complain("diagnosis", line)
    return 1 if diagnosis else 0


def _export(args: argparse.Namespace) -> Export | None:
    if args.json:
        return JsonExport(sys.stdout)
    return CsvExport(sys.stdout) if args.csv else None


def _limit(args: argparse.Namespace) -> int | None:
    if args.limit is not None or not (args.json or args.csv):
        return _TABLE_ROWS if args.limit is None else int(args.limit)
    return _SORTED_ROWS if args.sort is not None else None


def _entries(name: str, reader: LogReader, *, is_streamed: bool) -> Iterator[Entry]:
    with _opened(name) as (stream, size):
        is_shown = not (is_streamed and sys.stdout.isatty())
        with ReadingProgress(size, is_shown=is_shown) as progress:
            for data in _pieces(stream, name):
                yield from reader.feed(data)
                progress.advance(len(data))
    yield from reader.close()


@contextmanager
def _opened(name: str) -> Iterator[tuple[IO[bytes], int | None]]:
    """Open the log; give its size where it is known."""
    if name == "-":
        yield sys.stdin.buffer, None
        return
    try:
        stream = Path(name).open("rb")  # noqa: SIM115 - closed below
        about = os.fstat(stream.fileno())
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from None
    with stream:
        yield stream, about.st_size if S_ISREG(about.st_mode) else None


def _pieces(stream: IO[bytes], name: str) -> Iterator[bytes]:
    read = getattr(stream, "read1", stream.read)
    try:
        while data := read(BLOCK):
            yield data
    except OSError as error:
        raise _unreadable(name, error) from None


def _unreadable(name: str, error: Exception) -> ConfigError:
    reason = getattr(error, "strerror", None) or error
    return ConfigError(f"{name}: cannot be read: {reason}: give the path of a log, or - for stdin")


def _print(rows: Rows, totals: Sequence[Totals]) -> None:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    kept = rows.kept()
    if kept:
        for line in table(kept, totals, width):
            sys.stdout.write(f"{line}\n")
    for total in totals:
        sys.stdout.write("\n")
        for line in totals_lines(total):
            sys.stdout.write(f"{line}\n")


def _more(
    reader: LogReader, rows: Rows, totals: Sequence[Totals], diagnosis: Diagnosis | None
) -> dict[str, Any]:
    """Return what JSON says of the log besides."""
    return {
        "lines": reader.lines,
        "rows_left_out": rows.left_out,
        "unreadable_lines": reader.unreadable,
        "repeated_lines": reader.repeated,
        "requests_without_numbers": reader.untimed,
        "impossible": dict(impossible(totals)),
        "notes": list(notes(reader, totals)),
        "diagnosis": None if diagnosis is None else msgspec.structs.asdict(diagnosis),
    }


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 10:  # noqa: PLR2004 - a sane count
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 0 or more")


def _complain(kind: str, line: str) -> None:
    sys.stderr.write(f"specmeter: {kind}: {line}\n")
