from collections.abc import AsyncIterator

import pytest

from specmeter.demo.llama_server import LlamaServer
from tests.real.proxy import Proxy, running_proxy


@pytest.fixture(params=["plain_llama", "ngram_mod_llama", "draft_simple_llama"])
def llama(request: pytest.FixtureRequest) -> LlamaServer:
    """Give a server of each kind in turn."""
    server: LlamaServer = request.getfixturevalue(request.param)
    return server


@pytest.fixture
async def plain_proxy(plain_llama: LlamaServer) -> AsyncIterator[Proxy]:
    """Run a proxy in front of the server that does not speculate."""
    async with running_proxy(plain_llama.url) as proxy:
        yield proxy
