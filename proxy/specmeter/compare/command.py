"""`specmeter compare`: the three-step check. Are there drafts, what do they bring, is it faster?"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from specmeter import __version__
from specmeter.asking import Server
from specmeter.compare.findings import ServerFacts
from specmeter.compare.measure import Measuring
from specmeter.compare.plan import Side, plan
from specmeter.compare.prompts import Prompt, built_in, read_prompts
from specmeter.compare.report import Report, as_json
from specmeter.compare.results import Results, drafting
from specmeter.compare.samples import Cell
from specmeter.compare.text import as_markdown, as_text
from specmeter.config.address import Address, Target
from specmeter.errors import ConfigError
from specmeter.measuring.flags import (
    add_server_arguments,
    number,
    numbers,
    server_of,
    target_of,
)
from specmeter.measuring.measured_server import MeasuredServer
from specmeter.reading import MIN_DECODE_TOKENS

_LENGTHS = (128, 512)
_REPEATS = 3
_SEEDS = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.epilog = (
        "Both servers are asked the same prompts greedily, interleaved in random order. A cell "
        "(one prompt, one length) is faster or slower only if all repeats of one server were "
        "faster than all of the other, and the medians lie further apart than the noise. Outputs "
        "are compared by hash, never shown or kept. Exit code 0: measured, whatever the verdict; "
        "1: a server fails, reports too little, or the plain one is drafting; 2: usage."
    )
    parser.add_argument("--spec", required=True, metavar="URL", help="the server that speculates")
    parser.add_argument("--plain", required=True, metavar="URL", help="the one that does not")
    parser.add_argument(
        "--prompts",
        type=Path,
        metavar="FILE",
        help='a prompt a line, or JSON objects: {"name": …, "prompt": … or "messages": […]} '
        "(default: code, prose and a list)",
    )
    parser.add_argument(
        "--lengths",
        type=numbers(MIN_DECODE_TOKENS, 1_000_000),
        default=_LENGTHS,
        metavar="N,N",
        help=f"most tokens of an answer (default: {','.join(map(str, _LENGTHS))})",
    )
    parser.add_argument(
        "--repeat",
        type=number(1, 100),
        default=_REPEATS,
        metavar="N",
        help="runs of each cell on each server; three to seven tell most (default: %(default)s)",
    )
    parser.add_argument(
        "--concurrency",
        type=number(1, 1024),
        default=1,
        metavar="N",
        help="requests at the same time (default: %(default)s)",
    )
    parser.add_argument(
        "--spec-model", metavar="NAME", help="its model (default: the first it lists)"
    )
    parser.add_argument(
        "--plain-model", metavar="NAME", help="its model (default: the first it lists)"
    )
    add_server_arguments(parser)
    parser.add_argument(
        "--plain-api-key-file",
        metavar="FILE",
        help="holds the plain server's key, if that is another one",
    )
    parser.add_argument(
        "--seed",
        type=number(0, 2**63 - 1),
        metavar="N",
        help="of the random order (default: another one each time, told at the end)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object")
    form.add_argument("--markdown", action="store_true", help="to be pasted into an issue")


def run(args: argparse.Namespace) -> int:
    """Compare two servers and report.

    Returns:
        0.

    Raises:
        ConfigError: A flag or the prompts are at fault.
        SpecmeterError: It had to be broken off; what was measured is printed.
    """
    targets = {
        Side.SPEC: target_of("--spec", args.spec),
        Side.PLAIN: target_of("--plain", args.plain),
    }
    if _are_the_same(*targets.values()) and args.spec_model == args.plain_model:
        raise ConfigError(
            f"--spec and --plain are the same server, {targets[Side.PLAIN].base_url}: give --plain "
            "a server without speculation, or different --spec-model and --plain-model"
        )
    keys = {
        Side.SPEC: args.api_key_file,
        Side.PLAIN: args.plain_api_key_file or args.api_key_file,
    }
    servers = {side: server_of(targets[side], args, keys[side]) for side in Side}
    prompts = read_prompts(args.prompts) if args.prompts else built_in()
    asyncio.run(_compare(servers, prompts, args))
    return 0


async def _compare(
    servers: dict[Side, Server], prompts: tuple[Prompt, ...], args: argparse.Namespace
) -> None:
    models = {Side.SPEC: args.spec_model, Side.PLAIN: args.plain_model}
    seed = secrets.randbelow(_SEEDS) if args.seed is None else args.seed
    cells = [Cell(prompt.name, length) for prompt in prompts for length in args.lengths]
    steps = plan(cells, args.repeat, seed)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    # A server may close a connection after a stream without saying so beforehand.
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        measured = {
            side: MeasuredServer(side, session, servers[side], models[side], args.timeout)
            for side in Side
        }
        for side in Side:
            await measured[side].look_up()
        measuring = Measuring(measured, prompts, args.concurrency)
        is_complete = False
        try:
            await measuring.run(steps)
            is_complete = True
        finally:
            runs = measuring.runs
            if is_complete or all(runs.values()):
                report = Report(
                    tool=f"specmeter {__version__}",
                    measured=started,
                    seed=seed,
                    repeats=args.repeat,
                    concurrency=args.concurrency,
                    is_complete=is_complete,
                    servers={side: _facts(measured[side], measuring, side) for side in Side},
                    drafting={side: drafting(runs[side]) for side in Side},
                    results=Results.of(cells, runs[Side.SPEC], runs[Side.PLAIN]),
                )
                _print(report, args)


def _facts(server: MeasuredServer, measuring: Measuring, side: Side) -> ServerFacts:
    return ServerFacts(
        url=server.url,
        model=server.model,
        backend=server.kind,
        build=server.build,
        speculates=server.facts.speculates,
        clock=measuring.clocks.get(side),
    )


def _print(report: Report, args: argparse.Namespace) -> None:
    if args.json:
        sys.stdout.write(as_json(report).decode())
    else:
        for line in as_markdown(report) if args.markdown else as_text(report):
            sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _are_the_same(one: Target, other: Target) -> bool:
    """Tell whether two URLs lead to the same server, as far as can be told without DNS."""
    same_place = one.host == other.host and one.port == other.port
    return one.prefix == other.prefix and (
        same_place or Address(one.host, one.port).overlaps(other.host, other.port)
    )
