"""The soak's clients run on uvloop here as they do from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import uvloop


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run the tests on uvloop."""
    return {"uvloop": uvloop.new_event_loop}
