"""Names that want to be markup stay text, and long ones stay in their place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from playwright.async_api import expect

from specmeter.history.names import LONGEST
from tests.page.fake import before, fake_llama, send
from tests.page.looking import WIDTHS, Look

pytestmark = pytest.mark.asyncio(loop_scope="session")

Looking = Callable[..., AbstractAsyncContextManager[Look]]

SCRIPT = "<script>window.hacked = 1</script>"
IMAGE = '"\'><img src=x onerror="window.hacked = 1">'
TEMPLATE = "${window.hacked = 1}</style></title><svg onload='window.hacked = 1'>"
ARABIC = "نموذج-العربية"
TURNED = "\u202emodel\u202c \u2066txt\u0000\u001b[31m"
LONG = "a" * 10_000
LONG_WORDS = "<b>long </b>" * 1000
NAMES = (SCRIPT, IMAGE, TEMPLATE, ARABIC, TURNED, LONG, LONG_WORDS)


@pytest.mark.parametrize("width", WIDTHS)
async def test_hostile_names_are_text(look: Looking, width: int) -> None:
    """Models, builds and headers that hold markup, quotes, RTL or 10 kB run nothing, break nothing.

    Each model's name is in the list of recent completions as it is, or cut.
    """
    headers = {"X-Model": "<script>window.hacked = 1</script>", "Server": IMAGE}
    async with (
        fake_llama(models=NAMES, build=f"b1{SCRIPT}{IMAGE}{LONG}", headers=headers) as fake,
        before(fake, method=SCRIPT) as shown,
    ):
        for name in NAMES:
            await send(shown, 2, name)
        async with look(shown.admin_url, width) as page:
            assert await page.page.evaluate("window.hacked") is None
            found = await page.page.locator("#recent td .name").all_text_contents()
            assert {SCRIPT, IMAGE, TEMPLATE, ARABIC} <= set(found)
            assert "\ufffdmodel\ufffd \ufffdtxt\ufffd\ufffd[31m" in found
            assert max(map(len, found)) <= LONGEST
            assert (
                await page.page.locator("main img, main script, main style, main b b").count() == 0
            )
            build = await page.text("[data-upstream=fake] dl")
            assert SCRIPT in build
            assert len(build) < 3000
            assert await page.overflowing() == []
            assert await page.accessibility_faults() == []
            assert page.console == []
            for index in range(len(NAMES)):
                await page.page.select_option("#model", index=index)
                chosen = page.page.locator("#model option:checked")
                model = (await chosen.text_content() or "").split("\u2068")[-1].strip("\u2069")
                await expect(page.page.locator("#verdict .subject")).to_contain_text(model[:50])
                assert await page.overflowing() == []
            assert await page.page.evaluate("window.hacked") is None
            assert page.console == []
