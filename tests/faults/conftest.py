"""The loop of `specmeter serve`, no leaks, and a server whose script the test writes."""

from tests.gateway.conftest import (  # noqa: F401 - fixtures and a hook are found by name
    nothing_left,
    pytest_asyncio_loop_factories,
    upstream,
)
