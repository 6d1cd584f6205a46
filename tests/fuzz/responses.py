"""Damages answers of all kinds and reads them, until something gives way or the time is over.

    python -m tests.fuzz.responses --seconds 600

A failure prints the seed and the case, and `--seed S --case N` runs that one again.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from prometheus_client import CollectorRegistry
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from specmeter.backends import BACKENDS
from specmeter.backends.injection import CHAT, Habits, Undo
from specmeter.gateway.body_filter import BodyFilter
from specmeter.gateway.stream_filter import Filter, StreamFilter
from specmeter.meter.completion import Completion
from specmeter.meter.meter import Meter
from specmeter.reader import read
from specmeter.reading import Reading
from tests.answers import copied, is_possible
from tests.examples import EXAMPLES
from tests.examples.example import FRAMING
from tests.fuzz.mutations import damage_bytes, damage_values
from tests.replay import capture, capture_names

FORMS = ("body", "events", "lines")


class BrokenError(Exception):
    """What was read cannot be."""


@dataclass(frozen=True)
class Source:
    """An answer to be damaged."""

    name: str
    form: str
    raw: bytes
    messages: tuple[object, ...] = ()
    """Empty if only its bytes are known."""


def sources() -> list[Source]:
    """Return every example and every capture."""
    examples = [Source(str(one), one.form, one.raw, one.messages) for one in EXAMPLES]
    captures = [
        Source(name, "events" if "stream" in name else "body", capture(name).body)
        for name in capture_names()
    ]
    return examples + captures


def undos() -> list[Undo]:
    """Return each way in which an answer may have to lose something again."""
    found = []
    requests: tuple[dict[str, Any], ...] = ({"stream": True}, {"n": 1})
    for backend, running, unasked, request in itertools.product(
        BACKENDS, (False, True), (None, False, True), requests
    ):
        if backend.injection is not None:
            asked = backend.injection.ask(CHAT, request, Habits(running, unasked))
            found += [asked.undo] if asked is not None else []
    return found


class Fuzz:
    """Runs one case after the other; a case is told by its seed and number.

    Args:
        seed: Other seeds have other cases.
        possible: What every reading has to be.
    """

    def __init__(self, seed: int, possible: Callable[[Reading], bool] = is_possible) -> None:
        self._seed = seed
        self._possible = possible
        self._sources = sources()
        self._undos = undos()
        self._meter = Meter(CollectorRegistry(), position_limit=16)

    def run(self, case: int) -> str:
        """Run one case; return which answer it damaged.

        Raises:
            BrokenError: What came out cannot be.
        """
        dice = random.Random(f"{self._seed}:{case}")
        source = dice.choice(self._sources)
        form, raw = self._damaged(dice, source)
        self._read(dice, form, raw)
        self._filter(dice, raw)
        return source.name

    def _damaged(self, dice: random.Random, source: Source) -> tuple[str, bytes]:
        raw = source.raw
        form = source.form if dice.random() < 0.9 else dice.choice(FORMS)
        if source.messages and dice.random() < 0.6:
            messages = damage_values(dice, source.messages)
            if form == "body":
                raw = orjson.dumps(messages if dice.random() < 0.2 else (messages or [{}])[0])
            else:
                raw = FRAMING[form](*(one for one in messages if isinstance(one, dict)))
        if not source.messages or dice.random() < 0.4:
            raw = damage_bytes(dice, raw)
        if dice.random() < 0.1:
            raw += dice.choice(self._sources).raw
        return form, raw

    def _read(self, dice: random.Random, form: str, raw: bytes) -> None:
        kinds = (None, *BACKENDS)
        outcome = read(
            copied(form, *_pieces(dice, raw), limit=dice.choice((64, 1024, 1 << 20))),
            configured=dice.choice(kinds) if dice.random() < 0.3 else None,
            remembered=dice.choice(kinds),
            complete=dice.random() < 0.95,
        )
        if not (outcome.readings or outcome.unread):
            raise BrokenError("neither read nor unread")
        for reading in outcome.readings:
            if not self._possible(reading):
                raise BrokenError(f"impossible: {reading}")
            self._meter.count(
                Completion(
                    upstream="u",
                    endpoint=CHAT,
                    model_name="m",
                    reading=reading,
                    streamed=form != "body",
                    time_to_first_token=None,
                    duration=1.0,
                    finished_at=0.0,
                )
            )

    def _filter(self, dice: random.Random, raw: bytes) -> None:
        filters: tuple[Filter, ...] = (
            StreamFilter(dice.choice(self._undos)),
            BodyFilter(b"sglext", dice.choice((100, 1 << 20))),
        )
        for one in filters:
            passed = b"".join(map(one.feed, _pieces(dice, raw))) + one.flush()
            if len(passed) > len(raw):
                raise BrokenError("a filter added something")


def _pieces(dice: random.Random, raw: bytes) -> Iterator[bytes]:
    cuts = sorted(dice.randint(0, len(raw)) for _ in range(dice.choice((0, 1, 5))))
    for start, end in itertools.pairwise((0, *cuts, len(raw))):
        yield raw[start:end]


def run_for(fuzz: Fuzz, seconds: float, cases: Iterable[int], console: Console) -> int | None:
    """Run cases until the time is over; return the one that gave way, if one did."""
    columns = (TextColumn("{task.completed:.0f} s"), BarColumn(), TimeRemainingColumn())
    began = time.monotonic()
    with Progress(*columns, TextColumn("{task.description}"), console=console) as progress:
        task = progress.add_task("0 cases", total=seconds)
        for case in cases:
            passed = time.monotonic() - began
            if passed >= seconds:
                progress.update(task, completed=seconds, description=f"{case} cases")
                break
            if case % 200 == 0:
                progress.update(task, completed=passed, description=f"{case} cases")
            try:
                fuzz.run(case)
            except Exception:  # noqa: BLE001 - whatever it is, it is what was looked for
                console.print(traceback.format_exc(), markup=False)
                return case
    return None


def main(arguments: list[str] | None = None) -> int:
    """Run cases until the time is over; return 1 if one gave way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (60)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--case", type=int, help="run only this one")
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    console.print(f"seed {options.seed}")
    cases = itertools.count() if options.case is None else (options.case,)
    broken = run_for(Fuzz(options.seed), options.seconds, cases, console)
    if broken is not None:
        console.print(f"gave way: --seed {options.seed} --case {broken}")
    return 0 if broken is None else 1


if __name__ == "__main__":
    sys.exit(main())
