"""The same as for all tests of the data path."""

from tests.gateway.conftest import nothing_left, pytest_asyncio_loop_factories, upstream

__all__ = ["nothing_left", "pytest_asyncio_loop_factories", "upstream"]
