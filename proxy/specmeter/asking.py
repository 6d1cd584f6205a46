"""Completions that specmeter asks for itself: to measure a server, and to replay a request."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

import aiohttp

from specmeter import ndjson
from specmeter.backends import Backend
from specmeter.discreet import Discreet
from specmeter.fault import Fault
from specmeter.output_text import output_text
from specmeter.reader import Outcome, read
from specmeter.reading import Reading
from specmeter.transcript import BodyTranscript, Copied, CopiedStream, StreamTranscript
from specmeter.unread import Unread

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""A larger answer is read no further."""

_OK = 200
_TOLD = 200  # characters of an error


class AskError(Exception):
    """A server gave no completion; the text says what it did, and holds no prompt or output.

    Attributes:
        status: The HTTP status of an answer that is an error.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Discreet):
    """A completion that was asked for. Times are seconds."""

    outcome: Outcome
    copied: Copied
    first_content_seconds: float | None
    """From the request to the first content; streams only."""
    seconds: float
    """From the request to the end of the answer."""

    @property
    def reading(self) -> Reading | None:
        """The numbers; `None` if there are none, or those of several choices."""
        readings = self.outcome.readings
        return readings[0] if len(readings) == 1 else None

    def text(self) -> str | None:
        """Return what was generated; see `output_text`."""
        return output_text(self.copied)


@dataclass(frozen=True, slots=True, repr=False)
class Server(Discreet):
    """Where completions are asked for.

    Attributes:
        base_url: Scheme, host, port and maybe a path, no slash at the end.
        key: For `Authorization`; empty for none.
        tls: For an https url; None trusts what the system trusts.
        backend: Its kind; None finds out.
    """

    base_url: str
    key: str = ""
    tls: ssl.SSLContext | None = None
    backend: Backend | None = None


async def ask(
    session: aiohttp.ClientSession,
    server: Server,
    path: str,
    body: bytes,
    *,
    timeout_seconds: float,
) -> Answer:
    """Send a completion's request, wait for the whole answer and read it as the proxy does.

    Args:
        session: Of the caller, who closes it.
        server: Whom to ask.
        path: With the query, percent-encoded.
        body: JSON.
        timeout_seconds: For everything, from connecting to the last byte.

    Raises:
        AskError: There is no answer, it is an error, or it is too large.
    """
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    if server.key:
        headers["Authorization"] = f"Bearer {server.key}"
    clock = asyncio.get_running_loop().time
    started = clock()
    try:
        async with session.post(
            server.base_url + path,
            data=body,
            headers=headers,
            ssl=server.tls or True,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=timeout_seconds),
        ) as response:
            if response.status != _OK:
                raise AskError(
                    f"{server.base_url}{path} answered HTTP {response.status}", response.status
                )
            transcript = _transcript(response.content_type)
            size = 0
            async for piece in response.content.iter_any():
                transcript.append(piece, clock())
                size += len(piece)
                if size > MAX_ANSWER_BYTES:
                    raise AskError(f"{server.base_url}{path} sent more than 64 MiB")
    except TimeoutError:
        raise AskError(
            f"{server.base_url}{path} did not answer within {timeout_seconds:g} s"
        ) from None
    except (aiohttp.ClientError, OSError) as error:
        said = str(error)[:_TOLD] or type(error).__name__
        raise AskError(f"{server.base_url}{path} gave no answer: {said}") from None
    ended = clock()
    copied = transcript.copied()
    if isinstance(copied, Fault):
        raise AskError(f"cannot read the answer of {server.base_url}{path}: {copied}")
    outcome = read(copied, configured=server.backend)
    if Unread.ERROR_EVENT in outcome.unread:
        raise AskError(f"{server.base_url}{path} ended its stream with an error")
    first = copied.first_content_at if isinstance(copied, CopiedStream) else None
    return Answer(
        outcome=outcome,
        copied=copied,
        first_content_seconds=None if first is None else first - started,
        seconds=ended - started,
    )


def _transcript(content_type: str) -> BodyTranscript | StreamTranscript:
    if content_type == "text/event-stream":
        return StreamTranscript(MAX_ANSWER_BYTES, keeps_everything=True)
    if content_type == "application/x-ndjson":
        return StreamTranscript(MAX_ANSWER_BYTES, ndjson, keeps_everything=True)
    return BodyTranscript(MAX_ANSWER_BYTES)
