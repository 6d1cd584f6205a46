"""`specmeter top`: the summary of a running proxy, live on a terminal, once into a pipe."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from specmeter.config import Address, parse_address
from specmeter.errors import ConfigError, StartupError
from specmeter.history.timeline import RANGES
from specmeter.top.client import summary_of
from specmeter.top.lines import clean, model_lines, upstream_line

DEFAULT_ADMIN = "127.0.0.1:9108"
_EVERY_SECONDS = 2.0

_COLOURS = {
    "faster": "bold green",
    "slower": "bold red",
    "down": "bold red",
    "cannot_tell": "bold yellow",
    "no_baseline": "bold yellow",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.epilog = (
        "On a terminal it goes on until Ctrl-C; into a pipe or file it writes one summary. "
        "Exit code 0: told; 1: no proxy answers; 2: the address is at fault."
    )
    parser.add_argument(
        "--admin",
        metavar="HOST:PORT",
        help=f"the proxy's admin listener (default: {DEFAULT_ADMIN}; environment: SPECMETER_ADMIN)",
    )
    parser.add_argument(
        "--admin-key-file",
        metavar="FILE",
        type=Path,
        help="holds the key that the admin listener wants (default: none)",
    )
    parser.add_argument(
        "--range",
        choices=tuple(RANGES),
        default="1h",
        help="how far to look back (default: %(default)s)",
    )
    parser.add_argument("--once", action="store_true", help="one summary on a terminal too")


def run(args: argparse.Namespace) -> int:
    """Show the summary.

    Returns:
        0.

    Raises:
        ConfigError: The address is none.
        StartupError: No proxy answers there.
    """
    address, key = _address(args.admin), _key(args.admin_key_file)

    def ask() -> dict[str, Any]:
        return summary_of(address, args.range, key)

    console = Console(highlight=False)
    summary = ask()
    if args.once or not console.is_terminal:
        for line in _lines(summary):
            console.print(line, soft_wrap=True)
        return 0
    with suppress(KeyboardInterrupt):
        _go_on(ask, console, summary)
    return 0


def _go_on(
    ask: Callable[[], dict[str, Any]], console: Console, summary: dict[str, Any]
) -> NoReturn:
    with Live(_group(summary), console=console, screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(_EVERY_SECONDS)
            try:
                summary = ask()
            except StartupError as error:
                live.update(Group(Text(str(error), style="bold red"), _group(summary)))
            else:
                live.update(_group(summary))
            live.refresh()


def _address(flag: str | None) -> Address:
    where, text = "--admin", flag
    if text is None:
        where, text = "SPECMETER_ADMIN", os.environ.get("SPECMETER_ADMIN") or DEFAULT_ADMIN
    try:
        return parse_address(text).reachable()
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _key(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"--admin-key-file: {path} cannot be read: {reason}") from None
    keys = [key for line in lines if (key := line.strip()) and not key.startswith("#")]
    if not keys or not keys[0].isascii() or not keys[0].isprintable():
        raise ConfigError(f"--admin-key-file: {path} has to hold a key, on a line of its own")
    return keys[0]


def _group(summary: dict[str, Any]) -> Group:
    return Group(*_lines(summary))


def _lines(summary: dict[str, Any]) -> Iterator[Text]:
    at = time.strftime("%H:%M:%S", time.localtime(summary["at"]))
    yield Text(
        f"specmeter {clean(summary['specmeter'])} at {clean(summary['data_url'])}, {at}, "
        f"last {clean(summary['range'])}"
    )
    for upstream in summary["upstreams"]:
        yield Text(upstream_line(upstream), style="" if upstream.get("up") else "red")
    busy = [model for model in summary["models"] if model["numbers"]["completions"]]
    for model in busy or summary["models"]:
        yield Text("")
        first, *rest = model_lines(model)
        yield Text(first, style=_COLOURS.get(model["verdict"]["kind"], "bold"))
        yield from (Text(line) for line in rest)
