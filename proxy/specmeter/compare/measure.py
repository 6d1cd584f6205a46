"""Asks both servers all prompts at all lengths, in random order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import sha256

from specmeter.asking import Answer
from specmeter.backends.switches import without_prompt_cache
from specmeter.compare.plan import Side, Step
from specmeter.compare.prompts import WARM_UP, Prompt
from specmeter.compare.samples import Run
from specmeter.errors import SpecmeterError
from specmeter.measuring.measured_server import MeasuredServer, Messages
from specmeter.measuring.progress import MeasuringProgress
from specmeter.reading import Clock, Reading, Speculation

_WARM_UP_TOKENS = 16
_PROMPT_COST = 16.0
"""What a prompt costs in generated tokens, roughly, for the time left."""


class Measuring:
    """One comparison.

    Args:
        servers: Both, looked up already.
        prompts: What they are asked.
        concurrency: Requests at the same time, all of the same prompt.

    Attributes:
        runs: What has been measured so far.
        clocks: Who took each server's decode times, once known.
    """

    def __init__(
        self,
        servers: Mapping[Side, MeasuredServer],
        prompts: Sequence[Prompt],
        concurrency: int,
    ) -> None:
        self.runs: dict[Side, list[Run]] = {side: [] for side in Side}
        self.clocks: dict[Side, Clock] = {}
        self._servers = servers
        self._messages = {prompt.name: prompt.messages for prompt in prompts}
        self._concurrency = concurrency
        self._asked: set[tuple[Side, str]] = set()

    async def run(self, steps: Sequence[Step]) -> None:
        """Warm up, then make all runs.

        Raises:
            SpecmeterError: The plain server drafts, or a server fails or reports too little;
                `runs` has what was measured until then.
        """
        plain = self._servers[Side.PLAIN]
        if plain.facts.speculates:
            raise self._drafts("says that speculation is on")
        for side in Side:
            answer = await self._servers[side].complete(WARM_UP.messages, _WARM_UP_TOKENS)
            self._checked(side, answer)
        with MeasuringProgress([_cost(step) for step in steps]) as progress:
            for step in steps:
                progress.begin(f"{step.side}: {step.cell}")
                run = await self._one(step)
                self.runs[step.side].append(run)
                speed = f"{run.speed:.1f} tok/s" if run.is_long_enough else "too short to tell"
                progress.done(_cost(step), f"{step.side}: {step.cell}: {speed}")

    async def _one(self, step: Step) -> Run:
        server = self._servers[step.side]
        asked = (step.side, step.cell.prompt)
        is_new = asked not in self._asked
        self._asked.add(asked)
        messages = self._messages[step.cell.prompt]
        answers = await self._together(server, messages, step.cell.length)
        readings = tuple(self._checked(step.side, answer) for answer in answers)
        return Run(step.cell, readings, tuple(map(_digest, answers)), is_new)

    async def _together(
        self, server: MeasuredServer, messages: Messages, tokens: int
    ) -> list[Answer]:
        # What a cache kept of a prompt was computed in other batches, and rounds otherwise: the
        # texts of one server would differ.
        more = without_prompt_cache(server.backend)
        tasks = [
            asyncio.ensure_future(server.complete(messages, tokens, **more))
            for _ in range(self._concurrency)
        ]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # one that failed must not leave the others behind
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _checked(self, side: Side, answer: Answer) -> Reading:
        reading = self._servers[side].reading_of(answer)
        if side is Side.PLAIN and reading.speculation is Speculation.DRAFTED:
            raise self._drafts(f"is drafting ({reading.drafted} tokens in one answer)")
        if reading.clock is not None:
            self.clocks[side] = reading.clock
        return reading

    def _drafts(self, how: str) -> SpecmeterError:
        return SpecmeterError(
            f"the plain server at {self._servers[Side.PLAIN].url} {how}, so there is nothing to "
            "compare with: start it without speculation, or give --plain a server that has none"
        )


def _digest(answer: Answer) -> str | None:
    text = answer.text()
    return None if text is None else sha256(text.encode()).hexdigest()


def _cost(step: Step) -> float:
    return step.cell.length + _PROMPT_COST
