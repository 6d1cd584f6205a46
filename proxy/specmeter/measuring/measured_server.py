"""A server that is being measured: asks it for completions, and checks what can be measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aiohttp
import orjson

from specmeter.asking import Answer, AskError, Server, ask
from specmeter.backends import Backend
from specmeter.backends.injection import CHAT, Habits
from specmeter.errors import SpecmeterError
from specmeter.measuring.facts import Facts, look_up
from specmeter.reading import Reading

Messages = Sequence[dict[str, Any]]

_REMEDIES = {
    400: "is the model's name right, and the prompt within the context window?",
    401: "name a file with its key by --api-key-file",
    403: "name a file with its key by --api-key-file",
    404: "is the URL that of an OpenAI-compatible server, and the model's name right?",
    429: "measure a server that is otherwise idle",
    503: "wait until it has loaded its model",
}


class RefusedRequestError(SpecmeterError):
    """A server answered a request with an HTTP status of the 400s."""


class NoNumbersError(SpecmeterError):
    """A server's answer lacks what is to be measured."""


class MeasuredServer:
    """One server under measurement.

    Args:
        name: What errors call it.
        session: Of the caller, who closes it.
        server: Where it is.
        model: Its model; None takes the first that it lists.
        timeout_seconds: For one completion.

    Attributes:
        facts: What it says of itself.
        model: The model that is asked for; None if it lists none.
        build: Its `system_fingerprint`, empty if it has none.
    """

    def __init__(
        self,
        name: str,
        session: aiohttp.ClientSession,
        server: Server,
        model: str | None,
        timeout_seconds: float,
    ) -> None:
        self.name = name
        self.facts = Facts()
        self.model = model
        self.build = ""
        self._served: str | None = None
        self._backend: Backend | None = server.backend
        self._session = session
        self._server = server
        self._timeout_seconds = timeout_seconds

    @property
    def url(self) -> str:
        """Its base URL."""
        return self._server.base_url

    @property
    def kind(self) -> str | None:
        """Its server kind, where that is known."""
        return self._backend.name if self._backend else None

    @property
    def backend(self) -> Backend | None:
        """Its server kind, where that is known."""
        return self._backend

    async def look_up(self) -> None:
        """Ask what it is, and settle for a model.

        Raises:
            SpecmeterError: It does not answer, or wants a key.
        """
        self.facts = await look_up(self._session, self._server, self.model)
        self._backend = self.facts.backend
        if self.model is None and self.facts.models:
            self.model = self.facts.models[0]

    async def complete(self, messages: Messages, tokens: int, **more: Any) -> Answer:
        """Ask for one greedy completion, streamed, of at most so many tokens.

        Raises:
            RefusedRequestError: It did not take the request.
            SpecmeterError: It gave no completion, or has become another build or model.
        """
        body: dict[str, Any] = {
            **({} if self.model is None else {"model": self.model}),
            "messages": list(messages),
            "max_tokens": tokens,
            "temperature": 0,
            "stream": True,  # where a server gives no decode time, the stream tells it
            "stream_options": {"include_usage": True},
            **more,
        }
        injection = self._backend.injection if self._backend else None
        if injection is not None and (asked := injection.ask(CHAT, body, Habits())):
            body.update(asked.members)
        try:
            answer = await ask(
                self._session,
                self._server,
                CHAT,
                orjson.dumps(body),
                timeout_seconds=self._timeout_seconds,
            )
        except AskError as error:
            remedy = _REMEDIES.get(error.status or 0, "is the server still running?")
            kind = RefusedRequestError if 400 <= (error.status or 0) < 500 else SpecmeterError  # noqa: PLR2004
            raise kind(f"the {self.name} server failed: {error}: {remedy}") from None
        self._learn(answer)
        return answer

    def _learn(self, answer: Answer) -> None:
        outcome = answer.outcome
        if outcome.recognised and self._backend is None:
            self._backend = outcome.backend
        build = outcome.fingerprint or ""
        if self.build and build and build != self.build:
            raise SpecmeterError(
                f"the {self.name} server has become another build while it was measured: "
                f"{self.build}, now {build}: measure again"
            )
        self.build = self.build or build
        if outcome.model and self._served and outcome.model != self._served:
            raise SpecmeterError(
                f"the {self.name} server has changed its model while it was measured: "
                f"{self._served}, now {outcome.model}: measure again, with the model named"
            )
        self._served = self._served or outcome.model

    def reading_of(self, answer: Answer) -> Reading:
        """Return the numbers of an answer, of which tokens and decode time are there.

        Raises:
            NoNumbersError: They are not.
        """
        reading = answer.reading
        if reading is None or not reading.generated:
            raise NoNumbersError(
                f"the {self.name} server's answer has no token counts: measure a server that sends "
                "usage with its streams"
            )
        if reading.generated > 1 and not reading.decode_seconds:
            raise NoNumbersError(
                f"the {self.name} server's answers have no decode times, and do not come in "
                f"pieces: {self._timing_remedy()}"
            )
        return reading

    def _timing_remedy(self) -> str:
        if self.kind == "vllm":
            return "start it with --enable-per-request-metrics"
        return "measure it where it streams (past proxies that collect answers), or reports timings"
