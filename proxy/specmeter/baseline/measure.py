"""Measures a plain server: warm-up, checks, then each cell once a round."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from specmeter.asking import Answer
from specmeter.backends.switches import full_length
from specmeter.baseline.plan import Cell, plan, rounds
from specmeter.baseline.prompts import Calibration, messages
from specmeter.baseline.results import Results
from specmeter.errors import SpecmeterError
from specmeter.measuring.measured_server import MeasuredServer, NoNumbersError, RefusedRequestError
from specmeter.measuring.progress import MeasuringProgress
from specmeter.reading import MIN_DECODE_TOKENS, Clock, Reading, Speculation

_FEW_WORDS = 16
_MANY_WORDS = 96
_PLAIN = "start it without speculation, or give the URL of a server that has none"


class Wanted(msgspec.Struct, frozen=True):
    """What is to be measured."""

    contexts: tuple[int, ...]
    loads: tuple[int, ...]
    repeats: int
    tokens: int


class Measuring:
    """One measurement of one server.

    Args:
        server: Whom; looked up already.
        wanted: What.
        note: Gets what whoever waits should know, a sentence each.

    Attributes:
        results: What has been measured so far.
        clock: Who took the decode times, once known.
        reports_drafting: Whether its answers say anything of drafting, once known.
    """

    def __init__(self, server: MeasuredServer, wanted: Wanted, note: Callable[[str], None]) -> None:
        self.results = Results()
        self.clock: Clock | None = None
        self.reports_drafting: bool | None = None
        self._server = server
        self._wanted = wanted
        self._note = note
        self._too_large: int | None = None
        """A context that the server refused."""
        self._calibration = Calibration(0, 1)

    async def run(self) -> None:
        """Measure everything.

        Raises:
            SpecmeterError: The server speculates, fails, or does not report what is needed;
                `results` has what was measured until then.
        """
        if self._server.facts.speculates:
            raise SpecmeterError(
                f"the server at {self._server.url} says that speculation is on, and a baseline is "
                f"what a server does without: {_PLAIN}"
            )
        await self._warm_up()
        wanted = self._wanted
        chosen = plan(
            wanted.contexts,
            wanted.loads,
            wanted.tokens,
            least_prompt=self._calibration.least,
            window=self._server.facts.window,
            slots=self._server.facts.slots,
        )
        for sentence in chosen.left_out:
            self._note(sentence)
        if not chosen.cells:
            raise SpecmeterError(
                "nothing is left to measure: give --contexts that the server has room for, and "
                "--concurrency that it allows"
            )
        order = rounds(chosen.cells, wanted.repeats)
        with MeasuringProgress([cell.cost(wanted.tokens) for _, cell in order]) as progress:
            for repeat, cell in order:
                progress.begin(f"{cell}, repeat {repeat + 1} of {wanted.repeats}")
                progress.done(cell.cost(wanted.tokens), await self._cell(cell))
        if not self.results.cells:
            raise SpecmeterError(
                "the server refused every context: is its window smaller than --contexts?"
            )

    async def _warm_up(self) -> None:
        counts = []
        for words in (_FEW_WORDS, _MANY_WORDS):
            answer = await self._ask(0, words, MIN_DECODE_TOKENS)
            reading = self._checked(answer)
            if reading.prompt is None:
                raise NoNumbersError(
                    f"the server at {self._server.url} does not report the tokens of prompts, so "
                    "that contexts are not known: measure a server that sends usage"
                )
            counts.append((words, reading.prompt))
        try:
            self._calibration = Calibration.of(*counts)
        except ValueError:
            raise NoNumbersError(
                f"the server at {self._server.url} reports {counts[0][1]} and {counts[1][1]} "
                f"tokens for prompts of {_FEW_WORDS} and {_MANY_WORDS} words, which cannot be: "
                "measure past whatever changes prompts"
            ) from None
        # What the first requests cost a server that was idle is no part of the measurement.
        self._checked(await self._ask(0, _MANY_WORDS, self._wanted.tokens))

    async def _cell(self, cell: Cell) -> str:
        """Measure a cell once, and say what came of it."""
        if self._too_large is not None and cell.context >= self._too_large:
            return f"{cell}: left out"
        wanted = self._wanted.tokens
        words = self._calibration.words(cell.context - wanted / 2)
        try:
            if cell.in_flight > 1:
                # Read the prompts first: one that is still read slows down who decodes already.
                await self._together(cell.in_flight, words, 1)
            answers = await self._together(cell.in_flight, words, wanted)
        except RefusedRequestError as error:
            if cell in self.results.cells:
                raise
            self._too_large = cell.context
            self._note(f"contexts from {cell.context} on are left out: {error}")
            return f"{cell}: refused"
        readings = [self._checked(answer) for answer in answers]
        for reading in readings:
            if not reading.decoded or (reading.generated or 0) < MIN_DECODE_TOKENS:
                raise NoNumbersError(
                    f"the server ended an answer after {reading.generated} of {wanted} tokens, too "
                    "few to tell a speed: it has to go on to the full length"
                )
        self.results.add(cell, readings)
        measured = self.results.cells[cell]
        return f"{cell}: {measured.speeds[-1]:.1f} tok/s"

    async def _together(self, count: int, words: int, tokens: int) -> Sequence[Answer]:
        tasks = [asyncio.ensure_future(self._ask(stream, words, tokens)) for stream in range(count)]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # one that failed must not leave the others behind
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, stream: int, words: int, tokens: int) -> Answer:
        more = full_length(self._server.backend)
        return await self._server.complete(messages(stream, words), tokens, **more)

    def _checked(self, answer: Answer) -> Reading:
        reading = self._server.reading_of(answer)
        if reading.speculation is Speculation.DRAFTED:
            raise SpecmeterError(
                f"the server at {self._server.url} is drafting ({reading.drafted} tokens in one "
                f"answer), and a baseline is what a server does without: {_PLAIN}"
            )
        self.clock = reading.clock or self.clock
        self.reports_drafting = reading.speculation is not Speculation.NOT_REPORTED
        return reading
