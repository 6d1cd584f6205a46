"""Chromium, one for the whole run."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.page.looking import Look, looking

CHROMIUM = "chromium"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Run Debian's Chromium, without a window."""
    path = shutil.which(CHROMIUM)
    if path is None:
        pytest.fail("Chromium is not installed: apt-get install chromium")
    async with (
        async_playwright() as playwright,
        await playwright.chromium.launch(executable_path=path) as running,
    ):
        yield running


@pytest.fixture
def look(browser: Browser) -> Callable[..., AbstractAsyncContextManager[Look]]:
    """Give what opens a page for the length of a block."""
    return partial(looking, browser)
