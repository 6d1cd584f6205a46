"""Asks an upstream for a page of its own, and tells in one word what went wrong.

ScrapeError
├── its reason is a label of `specmeter_upstream_scrape_failures_total`
└── its text says what happened and what helps
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum

import aiohttp
from yarl import URL

from specmeter.upstream.upstreams import Upstream

MAX_BYTES = 4 * 1024 * 1024
"""The largest body that is read; a page of vLLM has 50 kB."""

PROCESS_HEADER = "Process-Start-Time-Unix"
"""llama.cpp's word for which process it is. It is no time, and only compared."""

_CHUNK_BYTES = 65536
_OK = 200
_REFUSED = frozenset((401, 403))
_NO_PAGE = frozenset((404, 405, 501))


class ScrapeFailure(StrEnum):
    """Why a page could not be read."""

    CANNOT_CONNECT = "cannot_connect"
    TIMEOUT = "timeout"
    BROKEN_OFF = "broken_off"
    """The connection ended before the page did."""
    REFUSED = "refused"
    """The server wants a key."""
    NO_PAGE = "no_page"
    """The server says that there is none."""
    STATUS = "bad_status"
    """It answered with any other status but 200."""
    TOO_LARGE = "too_large"
    NOT_METRICS = "not_metrics"
    """It is something else than the metrics page of such a server."""
    DAMAGED = "damaged"
    IMPOSSIBLE_NUMBER = "impossible_number"
    """The page was read, but for a number in it."""
    SCRAPER_FAILED = "scraper_failed"
    """The fault is specmeter's own."""


class ScrapeError(Exception):
    """A page could not be read."""

    def __init__(self, reason: ScrapeFailure, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class PageClient:
    """Makes specmeter's own requests to the upstreams for their pages.

    Args:
        keys: The key of each upstream by its name; empty for none.
        timeout_seconds: How long a page may take, from connecting to its last byte.
    """

    def __init__(self, keys: Mapping[str, str], timeout_seconds: float) -> None:
        self._keys = keys
        self._timeout_seconds = timeout_seconds
        self._session: aiohttp.ClientSession | None = None

    def start(self) -> None:
        """Get ready."""
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._timeout_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            # A connection that was kept would be closed by the server just before the next look.
            connector=aiohttp.TCPConnector(force_close=True),
        )

    async def stop(self) -> None:
        """Close what is open."""
        if self._session is not None:
            await self._session.close()

    async def get(
        self, upstream: Upstream, path: str, remedies: Mapping[int, str]
    ) -> tuple[bytes, str]:
        """Return a page's body and what its headers say of the server's process.

        Args:
            upstream: Whose page it is.
            path: With the query, percent-encoded.
            remedies: What helps against a status.

        Raises:
            ScrapeError: There is no page to be had.
        """
        if self._session is None:
            raise RuntimeError("the client was not started")
        headers = {"Accept": "text/plain, */*;q=0.1", "Accept-Encoding": "identity"}
        if key := self._keys[upstream.name]:
            headers["Authorization"] = f"Bearer {key}"
        try:
            async with self._session.get(
                URL(upstream.target.base_url + path, encoded=True),
                headers=headers,
                ssl=upstream.tls or True,
                allow_redirects=False,
            ) as response:
                if response.status != _OK:
                    raise _status_error(response.status, remedies)
                return await _body(response), response.headers.get(PROCESS_HEADER, "")
        except TimeoutError:
            text = f"it took more than {self._timeout_seconds:g} s"
            raise ScrapeError(ScrapeFailure.TIMEOUT, text) from None
        except aiohttp.ClientConnectorError as error:
            raise ScrapeError(ScrapeFailure.CANNOT_CONNECT, _why(error)) from None
        except (aiohttp.ClientError, OSError) as error:
            raise ScrapeError(ScrapeFailure.BROKEN_OFF, type(error).__name__) from None


def _why(error: OSError) -> str:
    # The loop writes the address into the text, which the log says anyway.
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    return (error.strerror or type(error).__name__).lower()


async def _body(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
        body += chunk
        if len(body) > MAX_BYTES:
            text = f"it is larger than {MAX_BYTES // 1024} KiB"
            raise ScrapeError(ScrapeFailure.TOO_LARGE, text)
    return bytes(body)


def _status_error(status: int, remedies: Mapping[int, str]) -> ScrapeError:
    said = f"HTTP {status}"
    if status in _REFUSED:
        remedy = "name a file with the server's key in api_key_file"
        return ScrapeError(ScrapeFailure.REFUSED, f"{said}: {remedy}")
    remedy = f": {remedies[status]}" if status in remedies else ""
    reason = ScrapeFailure.NO_PAGE if status in _NO_PAGE else ScrapeFailure.STATUS
    return ScrapeError(reason, said + remedy)
