"""Send the mix through the proxy, and set what the proxy read beside what was asked."""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp

from specmeter.demo.client import ask
from specmeter.demo.prompts import Prompt, mix
from specmeter.demo.tally import Tally
from specmeter.errors import SpecmeterError
from specmeter.meter.completion import Completion

OTHER_CLIENT = "your client"
"""Stands for the prompt of a completion that the demo did not ask for."""

_KEPT_ROWS = 100  # more than any screen shows
_READ_SECONDS = 10.0  # the proxy reads an answer when it has ended, so this is ample


@dataclass(frozen=True)
class Row:
    """One completion, and the label of the prompt it answers."""

    prompt: str
    completion: Completion


@dataclass
class Results:
    """What has come in so far, by upstream name."""

    rows: deque[Row] = field(default_factory=lambda: deque(maxlen=_KEPT_ROWS))
    """The newest ones."""
    totals: dict[str, Tally] = field(default_factory=dict)
    """Over every completion, other clients' included."""
    compared: dict[str, Tally] = field(default_factory=dict)
    """Over the prompts that every upstream has answered, and only those."""
    asking: str | None = None
    """What is being answered right now."""

    def add(self, row: Row) -> None:
        """Take in one completion."""
        self.rows.append(row)
        done = row.completion
        known = self.totals.get(done.upstream, Tally())
        self.totals[done.upstream] = known.plus(done.reading, done.estimate)

    def compare(self, answers: list[Completion]) -> None:
        """Take in the answers of every upstream to one prompt."""
        for answer in answers:
            known = self.compared.get(answer.upstream, Tally())
            self.compared[answer.upstream] = known.plus(answer.reading)


class Traffic:
    """One request after the other; every prompt goes to every upstream.

    Args:
        models: the model name that the proxy routes to each upstream, by upstream name.
        results: where the completions go.
    """

    def __init__(self, models: Mapping[str, str], results: Results) -> None:
        self._models = models
        self._results = results
        self._read: asyncio.Queue[Completion] = asyncio.Queue()

    def observe(self, completion: Completion) -> None:
        """Take what the proxy read; the proxy calls this at the end of every completion."""
        self._read.put_nowait(completion)

    async def run(self, base_url: str, seconds: float | None) -> None:
        """Send rounds of the mix; after `seconds` no new prompt is begun. None: without end.

        Raises:
            SpecmeterError: a request failed, or the proxy did not read an answer.
        """
        loop = asyncio.get_running_loop()
        end = None if seconds is None else loop.time() + seconds
        try:
            async with aiohttp.ClientSession() as client:
                order = list(self._models)
                for prompt in mix():
                    answers = [
                        await self._ask(client, base_url, upstream, prompt) for upstream in order
                    ]
                    order.reverse()  # a machine that gets busy or hot hits both alike
                    self._results.compare(answers)
                    if end is not None and loop.time() >= end:
                        return
        finally:
            self._results.asking = None

    async def _ask(
        self, client: aiohttp.ClientSession, base_url: str, upstream: str, prompt: Prompt
    ) -> Completion:
        self._results.asking = f"{upstream}: {prompt.label}"
        tokens = await ask(client, base_url, self._models[upstream], prompt)
        try:
            async with asyncio.timeout(_READ_SECONDS):
                return await self._answer(upstream, prompt, tokens)
        except TimeoutError:
            raise SpecmeterError(
                f"the proxy read nothing from an answer of {upstream} ({prompt.label}); "
                "is its llama.cpp too old to report timings?"
            ) from None

    async def _answer(self, upstream: str, prompt: Prompt, tokens: int | None) -> Completion:
        """Wait for the completion that is the answer; those before it are other clients'."""
        while True:
            read = await self._read.get()
            ours = (read.upstream, read.streamed) == (upstream, prompt.streamed) and (
                tokens is None or read.reading.generated == tokens
            )
            self._results.add(Row(prompt.label if ours else OTHER_CLIENT, read))
            if ours:
                return read
