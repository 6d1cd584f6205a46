"""llama.cpp closes a connection after each stream without a word of it in the answer's head."""

import asyncio

from tests.real.proxy import Proxy
from tests.real.requests import text


async def test_streams_in_a_row_all_come(plain_proxy: Proxy) -> None:
    """No request is lost to a connection that the server is just closing."""

    async def stream_on() -> None:
        for _ in range(16):
            await plain_proxy.post("/v1/completions", **text("One", max_tokens=1, stream=True))

    await asyncio.gather(*(stream_on() for _ in range(8)))
    assert len(plain_proxy.completions) == 128
    assert (await plain_proxy.page()).total("specmeter_upstream_failures_total") == 0
