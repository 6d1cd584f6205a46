"""llama.cpp closes its connections after each stream, and after a hundred requests."""

import asyncio

from tests.real.proxy import Proxy
from tests.real.requests import text


async def test_streams_in_a_row_all_come(plain_proxy: Proxy) -> None:
    """No request is lost to a connection that the server closes after a stream, unannounced."""

    async def stream_on() -> None:
        for _ in range(24):
            await plain_proxy.post("/v1/completions", **text("One", max_tokens=1, stream=True))

    await asyncio.gather(*(stream_on() for _ in range(8)))
    assert len(plain_proxy.completions) == 8 * 24
    assert (await plain_proxy.page()).total("specmeter_upstream_failures_total") == 0


async def test_more_requests_than_a_connection_takes(plain_proxy: Proxy) -> None:
    """A client may go on where the server wants a new connection, as it says it does."""
    limit = 100
    for _ in range(limit + 10):
        await plain_proxy.post("/tokenize", content="one")
    page = await plain_proxy.page()
    assert page.total("specmeter_requests_total", endpoint="/tokenize", code="200") == limit + 10
    assert page.total("specmeter_upstream_failures_total") == 0
