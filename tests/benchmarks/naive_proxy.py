"""For comparison: a metering proxy as it is commonly written with aiohttp.

`python -m tests.benchmarks.naive_proxy UPSTREAM PORT`. It relays streams piece by piece, keeps
every response whole, and reads the token counts afterwards.
"""

import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import ClientSession, web

UPSTREAM = web.AppKey("UPSTREAM", str)
SESSION = web.AppKey("SESSION", ClientSession)
TOTALS: web.AppKey[Counter[str]] = web.AppKey("TOTALS", Counter)
HOP_BY_HOP = {"connection", "content-length", "keep-alive", "transfer-encoding", "host"}


async def session(app: web.Application) -> AsyncIterator[None]:
    """One client session for the application's life."""
    async with ClientSession() as app[SESSION]:
        yield


def meter(body: bytes, streamed: bool, totals: Counter[str]) -> None:
    """Add up what the last object with timings says."""
    texts = body.split(b"\n") if streamed else [b"data: " + body]
    timings: dict[str, Any] = {}
    for text in texts:
        if text.startswith(b"data: {"):
            timings = json.loads(text[6:]).get("timings", timings)
    totals["drafted"] += timings.get("draft_n", 0)
    totals["accepted"] += timings.get("draft_n_accepted", 0)


async def relay(request: web.Request) -> web.StreamResponse:
    """Pass a request on and its response back."""
    app = request.app
    headers = {k: v for k, v in request.headers.items() if k.lower() not in HOP_BY_HOP}
    url, body = app[UPSTREAM] + request.path_qs, await request.read()
    async with app[SESSION].request(request.method, url, headers=headers, data=body) as upstream:
        kept = {k: v for k, v in upstream.headers.items() if k.lower() not in HOP_BY_HOP}
        if upstream.content_type != "text/event-stream":
            answer = await upstream.read()
            if request.method == "POST":
                meter(answer, streamed=False, totals=app[TOTALS])
            return web.Response(status=upstream.status, headers=kept, body=answer)
        response = web.StreamResponse(status=upstream.status, headers=kept)
        await response.prepare(request)
        whole = bytearray()
        async for piece in upstream.content.iter_any():
            whole += piece
            await response.write(piece)
        meter(bytes(whole), streamed=True, totals=app[TOTALS])
        return response


if __name__ == "__main__":
    application = web.Application()
    application[UPSTREAM] = sys.argv[1]
    application[TOTALS] = Counter()
    application.cleanup_ctx.append(session)
    application.router.add_route("*", "/{path:.*}", relay)
    web.run_app(application, host="127.0.0.1", port=int(sys.argv[2]), print=None, access_log=None)
