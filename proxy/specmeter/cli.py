"""The command line: serve, check-config, healthcheck, log, compare, baseline, top, demo.

What a command needs is imported when it runs, so that --version and --help answer at once.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from specmeter import __version__, standard_streams
from specmeter.errors import ConfigError, SpecmeterError

_ADMIN = "127.0.0.1:9108"
_HEALTHCHECK_SECONDS = 2.0
_INTERRUPTED = 130  # what a shell reports of a program that Ctrl-C ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after the program's name; None takes those it was started with.

    Returns:
        The exit code: 0 for success, 1 for a failure, 2 for a fault in configuration or usage.
    """
    standard_streams.open_missing()
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options = _parser(words).parse_args(words)
        run: Callable[[argparse.Namespace], int] = options.run
        return run(options)
    except SpecmeterError as error:
        _complain("error", str(error).splitlines())
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED


def _parser(words: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="specmeter",
        description="Meter speculative decoding live, as a proxy in front of an LLM server.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"specmeter {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_serve(commands)
    _add_check_config(commands)
    _add_healthcheck(commands)
    _add_log(commands, is_wanted=words[:1] == ["log"])
    _add_compare(commands, is_wanted=words[:1] == ["compare"])
    _add_baseline(commands, is_wanted=words[:1] == ["baseline"])
    _add_top(commands, is_wanted=words[:1] == ["top"])
    _add_demo(commands, is_wanted=words[:1] == ["demo"])
    return parser


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, text: str
) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=text, description=f"{text}.", allow_abbrev=False)


def _add_serve(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    serve = _command(commands, "serve", "Forward requests to a server and meter its completions")
    serve.epilog = "Flags override environment variables, and those override the file."
    serve.set_defaults(run=_serve)
    flags = (
        ("config", "FILE", "configuration file", "none", "SPECMETER_CONFIG"),
        ("upstream", "URL", "the server to meter", "the file's", "SPECMETER_UPSTREAM"),
        ("listen", "HOST:PORT", "where clients connect", "127.0.0.1:8088", "SPECMETER_LISTEN"),
        ("admin", "HOST:PORT", "where the live page and /metrics are", _ADMIN, "SPECMETER_ADMIN"),
        ("backend", "KIND", "auto, llama_cpp, vllm or openai", "auto", "SPECMETER_BACKEND"),
        ("workers", "N", "processes that share the load", "1", "SPECMETER_WORKERS"),
        ("log-level", "LEVEL", "debug, info, warning or error", "info", "SPECMETER_LOG_LEVEL"),
        ("log-format", "FORMAT", "text or json", "text", "SPECMETER_LOG_FORMAT"),
    )
    for name, metavar, meaning, default, variable in flags:
        text = f"{meaning} (default: {default}; environment: {variable})"
        serve.add_argument(f"--{name}", metavar=metavar, help=text)


def _add_check_config(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    check = _command(commands, "check-config", "Check a file and print the effective settings")
    check.epilog = "Environment variables override the file, as they do in serve."
    check.set_defaults(run=_check_config)
    check.add_argument("file", metavar="FILE", type=Path, help="configuration file")


def _add_healthcheck(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    health = _command(commands, "healthcheck", "Ask a running specmeter whether it is alive")
    health.epilog = "Exit code 0: alive; 1: not; 2: the address is at fault."
    health.set_defaults(run=_healthcheck)
    text = f"its admin address (default: {_ADMIN}; environment: SPECMETER_ADMIN)"
    health.add_argument("--admin", metavar="HOST:PORT", help=text)


def _add_log(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", *, is_wanted: bool
) -> None:
    log = _command(commands, "log", "Show what a server's log says about drafting")
    if is_wanted:
        from specmeter.serverlog.command import add_arguments, run  # noqa: PLC0415 - slow

        add_arguments(log)
        log.set_defaults(run=run)


def _add_compare(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", *, is_wanted: bool
) -> None:
    compare = _command(commands, "compare", "Tell whether speculation is faster than none")
    if is_wanted:
        from specmeter.compare.command import add_arguments, run  # noqa: PLC0415 - slow

        add_arguments(compare)
        compare.set_defaults(run=run)


def _add_baseline(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", *, is_wanted: bool
) -> None:
    baseline = _command(commands, "baseline", "Measure a server that does not speculate")
    if is_wanted:
        from specmeter.baseline.command import add_arguments, run  # noqa: PLC0415 - slow

        add_arguments(baseline)
        baseline.set_defaults(run=run)


def _add_top(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", *, is_wanted: bool
) -> None:
    top = _command(commands, "top", "Show a running proxy's verdicts and numbers, live")
    if is_wanted:
        from specmeter.top.command import add_arguments, run  # noqa: PLC0415 - slow

        add_arguments(top)
        top.set_defaults(run=run)


def _add_demo(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", *, is_wanted: bool
) -> None:
    demo = _command(commands, "demo", "Show specmeter at work on real servers of this machine")
    if is_wanted:
        from specmeter.demo.command import add_arguments, run  # noqa: PLC0415 - slow

        add_arguments(demo)
        demo.set_defaults(run=run)


def _serve(options: argparse.Namespace) -> int:
    import logging  # noqa: PLC0415 - slow

    from specmeter import logs  # noqa: PLC0415 - slow
    from specmeter.config import load  # noqa: PLC0415 - slow

    keys = ("upstream", "listen", "admin", "backend", "workers", "log_level", "log_format")
    path = None if options.config is None else Path(options.config)
    loaded = load(path, os.environ, {key: getattr(options, key) for key in keys})
    settings = loaded.settings
    logs.configure(settings.log_level, settings.log_format, sys.stderr)
    for warning in loaded.warnings:
        logging.getLogger("specmeter").warning("%s", warning)

    from specmeter.service import serve  # noqa: PLC0415 - slow, and of no use after a fault

    return serve(settings)


def _check_config(options: argparse.Namespace) -> int:
    from specmeter.config import as_toml, load  # noqa: PLC0415 - slow

    loaded = load(options.file, os.environ, {})
    _complain("warning", loaded.warnings)
    sys.stdout.write(as_toml(loaded.settings))
    return 0


def _healthcheck(options: argparse.Namespace) -> int:
    import http.client  # noqa: PLC0415 - slow

    from specmeter.config import parse_address  # noqa: PLC0415 - slow

    where, text = "--admin", options.admin
    if text is None:
        where, text = "SPECMETER_ADMIN", os.environ.get("SPECMETER_ADMIN") or _ADMIN
    try:
        address = parse_address(text).reachable()
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    if address.port == 0:
        raise ConfigError(f'{where}: "{text}" has no port to ask: write the one that was chosen')
    connection = http.client.HTTPConnection(
        address.host, address.port, timeout=_HEALTHCHECK_SECONDS
    )
    url = f"http://{address}/healthz"
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    except OSError as error:
        sys.stdout.write(f"not alive: {url}: {error.strerror or error}\n")
        return 1
    except http.client.HTTPException:
        sys.stdout.write(f"not alive: {url}: its answer is not HTTP\n")
        return 1
    finally:
        connection.close()
    is_alive = status == http.client.OK
    sys.stdout.write(f"{'alive' if is_alive else 'not alive'}: {url} answered {status}\n")
    return 0 if is_alive else 1


def _complain(kind: str, lines: Sequence[str]) -> None:
    for line in lines:
        sys.stderr.write(f"specmeter: {kind}: {line}\n")
