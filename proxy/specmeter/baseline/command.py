"""`specmeter baseline`: measures a plain server, and writes what it measured to a file."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path

import aiohttp

from specmeter import __version__
from specmeter.asking import Server
from specmeter.atomic_file import READABLE, replace_file
from specmeter.baseline.measure import Measuring, Wanted
from specmeter.baseline.report import lines
from specmeter.errors import ConfigError, StartupError
from specmeter.measuring.flags import (
    add_server_arguments,
    number,
    numbers,
    server_of,
    target_of,
)
from specmeter.measuring.measured_server import MeasuredServer
from specmeter.reading import MIN_DECODE_TOKENS, Clock
from specmeter.speedup.table_file import encode_table

_CONTEXTS = (256, 1024, 4096)
_LOADS = (1, 2, 4)
_REPEATS = 3
_TOKENS = 64
_NOISY = 1.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.epilog = (
        "Give the file to the proxy as baseline_file of an upstream. Measure while the machine is "
        "otherwise idle, and again after a change of build, model or hardware. Exit code 0: the "
        "file is written; 1: the server fails, is drafting, or reports too little; 2: usage."
    )
    parser.add_argument(
        "--upstream", required=True, metavar="URL", help="a server that does not speculate"
    )
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        type=Path,
        help="written at the end, in one go",
    )
    parser.add_argument(
        "--contexts",
        type=numbers(1, 10_000_000),
        default=_CONTEXTS,
        metavar="N,N",
        help="tokens in the cache at mid-generation; those that the server has no room for are "
        f"left out (default: {_joined(_CONTEXTS)})",
    )
    parser.add_argument(
        "--concurrency",
        type=numbers(1, 1024),
        default=_LOADS,
        metavar="N,N",
        help="requests at the same time; more than the server works on at a time are left out "
        f"(default: {_joined(_LOADS)})",
    )
    parser.add_argument(
        "--repeats",
        type=number(1, 100),
        default=_REPEATS,
        metavar="N",
        help="measurements of each (default: %(default)s)",
    )
    parser.add_argument(
        "--tokens",
        type=number(MIN_DECODE_TOKENS, 100_000),
        default=_TOKENS,
        metavar="N",
        help="that each request generates (default: %(default)s)",
    )
    parser.add_argument(
        "--model", metavar="NAME", help="which of its models (default: the first it lists)"
    )
    add_server_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, write the file and print the table.

    Returns:
        0.

    Raises:
        ConfigError: A flag is at fault.
        SpecmeterError: The server could not be measured; what was measured is printed.
    """
    target = target_of("--upstream", args.upstream)
    server = server_of(target, args, args.api_key_file)
    _check_out(args.out)
    asyncio.run(_measure(server, args))
    return 0


async def _measure(server: Server, args: argparse.Namespace) -> None:
    # A server may close a connection after a stream without saying so beforehand.
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        measured = MeasuredServer("plain", session, server, args.model, args.timeout)
        await measured.look_up()
        wanted = Wanted(args.contexts, args.concurrency, args.repeats, args.tokens)
        measuring = Measuring(measured, wanted, _note)
        started_at = time.time()
        try:
            await measuring.run()
        except BaseException:
            if measuring.results.cells:
                _say("measured before it ended, and not written:")
                _print(measuring)
            raise
    _write(args.out, measured, measuring, started_at)
    _print(measuring)
    _conclude(measured, measuring, args)


def _write(out: Path, server: MeasuredServer, measuring: Measuring, started_at: float) -> None:
    results = measuring.results
    table = results.table(measured_at=started_at, build=server.build, model=server.model or "")
    facts = {
        "tool": f"specmeter {__version__}",
        "backend": server.kind or "",
        "clock": measuring.clock or "",
    }
    content = encode_table(table, results.repeats(), {k: v for k, v in facts.items() if v})
    try:
        replace_file(out, content, READABLE)
    except OSError as error:
        _print(measuring)
        raise StartupError(
            f"{out}: cannot be written: {error.strerror}; what was measured is above"
        ) from None


def _check_out(out: Path) -> None:
    """Find out before minutes of measuring whether the file can be written."""
    folder = out.parent
    if out.is_dir():
        raise ConfigError(f"--out: {out} is a folder: name a file in it")
    if not folder.is_dir():
        raise ConfigError(f"--out: {folder} is no folder: make it, or name another one")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"--out: {folder} cannot be written to: name another folder")


def _print(measuring: Measuring) -> None:
    for line in lines(measuring.results):
        _say(line)


def _conclude(server: MeasuredServer, measuring: Measuring, args: argparse.Namespace) -> None:
    what = [server.model or "a model without a name"]
    if server.build:
        what.append(f"build {server.build}")
    _say(f"{args.out}: {len(measuring.results.cells)} points of {', '.join(what)}")
    for one in measuring.results.cells.values():
        if one.is_short(args.tokens):
            _note(f"{one.cell}: answers ended before {args.tokens} tokens")
    if any(one.range_ratio > _NOISY for one in measuring.results.cells.values()):
        _note(
            f"repeats of one cell differ by more than {_NOISY}x: if the machine was busy with "
            "other things, measure again while it is idle, or with more --repeats"
        )
    if args.repeats == 1:
        _note("one repeat says nothing of the noise: the points carry a usual error of 10 %")
    if measuring.clock is Clock.PROXY:
        _note("the server gives no decode times: these are from its streams, first to last token")
    if not measuring.reports_drafting and server.facts.speculates is None:
        _note(
            "the server says nothing of drafting: make sure that it was started without speculation"
        )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _note(text: str) -> None:
    sys.stderr.write(f"specmeter: note: {text}\n")
    sys.stderr.flush()


def _joined(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))
