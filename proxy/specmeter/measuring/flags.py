"""Flags of the commands that measure servers."""

from __future__ import annotations

import argparse
import ssl
from collections.abc import Callable
from pathlib import Path

from specmeter.asking import Server
from specmeter.backends import by_name
from specmeter.config import BACKENDS
from specmeter.config.address import Target, parse_target, with_scheme
from specmeter.config.rules import key_file
from specmeter.errors import ConfigError

_TIMEOUT_SECONDS = 600


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says how servers are asked."""
    parser.add_argument(
        "--api-key-file", metavar="FILE", help="holds the key that the server wants (default: none)"
    )
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        metavar="KIND",
        default="auto",
        help=f"server kind, one of {', '.join(BACKENDS)} (default: %(default)s)",
    )
    parser.add_argument(
        "--ca-file",
        metavar="FILE",
        help="certificates to trust, for https (default: the system's)",
    )
    parser.add_argument(
        "--timeout",
        type=number(1, 86400),
        default=_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="longest wait for one completion (default: %(default)s)",
    )


def number(low: int, high: int) -> Callable[[str], int]:
    """Make a type of argument: a whole number from low to high."""

    def read(text: str) -> int:
        if text.isascii() and text.isdecimal() and low <= int(text) <= high:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {low} to {high}")

    return read


def numbers(low: int, high: int) -> Callable[[str], tuple[int, ...]]:
    """Make a type of argument: whole numbers from low to high with commas between, ascending."""
    one = number(low, high)

    def read(text: str) -> tuple[int, ...]:
        return tuple(sorted({one(part.strip()) for part in text.split(",")}))

    return read


def target_of(flag: str, text: str) -> Target:
    """Read a server's URL.

    Raises:
        ConfigError: It is none; names the flag.
    """
    try:
        return parse_target(with_scheme(text))
    except ConfigError as error:
        raise ConfigError(f"{flag}: {error}") from None


def server_of(target: Target, args: argparse.Namespace, key_path: str | None) -> Server:
    """Return where completions are asked for, with key and certificates read.

    Raises:
        ConfigError: A file cannot be used.
    """
    return Server(
        target.base_url,
        key=_key(key_path),
        tls=_tls(args.ca_file) if target.is_tls else None,
        backend=by_name(args.backend),
    )


def _key(path: str | None) -> str:
    if path is None:
        return ""
    try:
        key = Path(key_file(path)).read_text(encoding="utf-8").strip()
    except ConfigError as error:
        raise ConfigError(f"--api-key-file: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"--api-key-file: {path} cannot be read: {reason}") from None
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigError(f"--api-key-file: {path} has to hold one key, on one line")
    return key


def _tls(path: str | None) -> ssl.SSLContext | None:
    if path is None:
        return None
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"--ca-file: {path} cannot be used: {reason}: name a file of PEM certificates"
        ) from None
