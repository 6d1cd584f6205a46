"""`/api/events`: server-sent events for open pages."""

from __future__ import annotations

import asyncio
import contextlib

from aiohttp import web

from specmeter.api.feed import Feed, Wish

MOST_PAGES = 64
"""Pages that may be open at a time."""

_SILENCE_SECONDS = 10.0
"""Ages and sliding windows move on without traffic; and a page that is gone is found out."""

_STUCK_SECONDS = 20.0
"""A page that takes nothing for so long is given up; it connects again by itself."""

_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


class Events:
    """The open pages."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._stopping = asyncio.Event()
        self.open = 0

    def stop(self) -> None:
        """End all streams."""
        self._stopping.set()

    async def serve(
        self, request: web.Request, wish: Wish, after: int | None
    ) -> web.StreamResponse:
        """Send what is wished for until the page is gone.

        Args:
            request: The page's.
            wish: Model and range.
            after: The last row that the page has; `None` for none.
        """
        response = web.StreamResponse(headers=_HEADERS)
        self.open += 1
        try:
            await response.prepare(request)
            await self._send_on(response, wish, after)
        except (ConnectionError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
        finally:
            self.open -= 1
        return response

    async def _send_on(self, response: web.StreamResponse, wish: Wish, after: int | None) -> None:
        feed = self._feed
        loop = asyncio.get_running_loop()
        await _write(response, b"retry: 1000\n\n")
        sent: tuple[object, ...] | None = None
        sent_at = 0.0
        while not self._stopping.is_set():
            marks = feed.marks()
            if marks != sent or loop.time() - sent_at >= _SILENCE_SECONDS:
                sent, sent_at, number = marks, loop.time(), feed.number
                await _write(response, feed.state(wish) + feed.rows(after))
                after = number
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), feed.tick_seconds)


async def _write(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(_STUCK_SECONDS):
        await response.write(data)
