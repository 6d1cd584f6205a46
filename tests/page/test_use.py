"""Using the page: charts, the list, switches, the keyboard, and a proxy that comes and goes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import aiohttp
import pytest
from playwright.async_api import expect

from specmeter.api.verdict import times
from specmeter.config import Settings, Upstream
from specmeter.service import Service
from tests.history.completions import made_up
from tests.page.fake import before, fake_llama, send
from tests.page.looking import Look
from tests.page.states import Shown

pytestmark = pytest.mark.asyncio(loop_scope="session")

Looking = Callable[..., AbstractAsyncContextManager[Look]]

MANY = tuple(f"model-{i}" for i in range(20))


def remember(shown: Shown, minutes: int, *, model: str = "m", plain: float = 3.0) -> None:
    """Let there have been a completion of 2 s every ten seconds, up to now."""
    now = time.time()
    for i in range(6 * minutes, -1, -1):
        done = made_up(now - 10 * i, upstream="fake", model=model, plain=plain)
        shown.service.history.take(done)


async def test_hover_and_keys_show_values(look: Looking) -> None:
    """The pointer and the arrow keys both bring time, number and fraction of a point."""
    async with fake_llama() as fake, before(fake) as shown:
        remember(shown, 50)
        async with look(shown.admin_url) as page:
            plot = page.page.locator("[data-chart=acceptance] .plot")
            tip = page.page.locator("[data-chart=acceptance] .tip")
            await plot.hover(position={"x": 200, "y": 60})
            text = await tip.inner_text()
            assert re.match(r"\d\d:\d\d:\d\d", text)
            assert "acceptance 50.0 %" in text
            assert re.search(r"= accepted \d+ / drafted \d+", text)
            await page.page.mouse.move(0, 0)
            assert await tip.is_hidden()
            await plot.focus()
            await page.page.keyboard.press("ArrowLeft")
            assert "acceptance 50.0 %" in await tip.inner_text()
            said = page.page.locator("[data-chart=acceptance] [role=status]")
            assert "acceptance 50.0 %" in await said.inner_text()
            await page.page.keyboard.press("Escape")
            assert await tip.is_hidden()


async def test_every_chart_has_its_line_or_bars(look: Looking) -> None:
    """Traffic that pays shows in all of them; the band and the line at 1 are drawn."""
    async with fake_llama() as fake, before(fake) as shown:
        remember(shown, 50)
        async with look(shown.admin_url) as page:
            for chart in ("speedup", "acceptance", "output", "step"):
                line = page.page.locator(f"[data-chart={chart}] polyline").first
                points = await line.get_attribute("points")
                assert points is not None
                assert len(points.split()) > 40
                assert "NaN" not in points
            assert await page.page.locator("[data-chart=speedup] .band").count() == 1
            assert await page.page.locator("[data-chart=speedup] .reference").count() == 1
            assert await page.page.locator("[data-chart=step] .line.even").count() == 1
            assert await page.page.locator("[data-chart=saved] .bar.saved").count() > 40
            assert await page.page.locator("[data-chart=saved] .bar.lost").count() == 0
            context = await page.text("[data-chart=context]")
            assert "0-512" in context
            assert times(1.5) in context


async def test_ranges_and_models_are_switched(look: Looking) -> None:
    """A choice changes what is shown, stays in the address, and survives a reload."""
    async with fake_llama(models=("m", "n")) as fake, before(fake) as shown:
        remember(shown, 50)
        remember(shown, 3, model="n", plain=1.0)
        async with look(shown.admin_url) as page:
            assert f"Faster {times(1.5)}" in await page.headline()
            await page.page.select_option("#model", label="\u2068fake\u2069 · \u2068n\u2069")
            await page.page.wait_for_selector("#verdict[data-kind=slower]")
            assert f"Slower {times(0.5)}" in await page.headline()
            await page.page.get_by_text("24 h", exact=True).click()
            await expect(page.page.locator("#verdict .subject")).to_contain_text("24 hours")
            await page.page.reload()
            await page.page.wait_for_selector("#verdict[data-kind=slower]")
            assert "24 hours" in await page.text("#verdict .subject")
            assert await page.page.is_checked("#ranges input[value='24h']")
            assert page.console == []


async def test_the_list_is_filtered_sorted_and_paused(look: Looking) -> None:
    """Words leave out rows, a heading sorts, and a pause holds still what comes meanwhile."""
    async with fake_llama(models=("alpha", "beta")) as fake, before(fake) as shown:
        await send(shown, 2, "alpha")
        fake.timings["predicted_ms"] = 500.0
        await send(shown, 1, "beta")
        async with look(shown.admin_url) as page:
            rows = page.page.locator("#recent tbody tr")
            await expect(rows).to_have_count(3)
            assert "beta" in await rows.first.inner_text()
            await page.page.fill("#filter", "alpha complete")
            assert await rows.count() == 2
            assert await page.text("#shown") == "2 of 3 rows"
            await page.page.fill("#filter", "nothing like it")
            assert "No completion matches" in await page.text("#recent")
            await page.page.fill("#filter", "")
            button = page.page.get_by_role("button", name="tok/s")
            await button.click()
            assert "198.0" in await rows.first.inner_text()
            await button.click()
            assert "99.0" in await rows.first.inner_text()
            sorted_by = page.page.locator("#recent th[aria-sort=ascending]")
            assert await sorted_by.inner_text() == "tok/s"
            await page.page.click("#pause")
            await send(shown, 2, "beta")
            await expect(page.page.locator("#shown")).to_contain_text("2 waiting")
            assert await rows.count() == 3
            await page.page.click("#pause")
            assert await rows.count() == 5


async def test_the_keyboard_reaches_everything_in_order(look: Looking) -> None:
    """Tab goes from the skip link through the controls, the charts and the list to the end."""
    async with fake_llama() as fake, before(fake) as shown:
        await send(shown, 2)
        async with look(shown.admin_url) as page:
            seen: list[str] = []
            for _ in range(80):
                await page.page.keyboard.press("Tab")
                what, outlined = await page.page.evaluate(
                    """() => {
                      const one = document.activeElement;
                      const chart = one.closest("[data-chart]")?.dataset.chart;
                      const shown = one.matches("#ranges input") ? one.nextElementSibling : one;
                      const style = getComputedStyle(shown);
                      const isSeen = style.outlineStyle !== "none" && style.outlineWidth !== "0px";
                      return [one.id || chart || one.className || one.tagName, isSeen];
                    }"""
                )
                if what == "BODY":
                    break
                assert outlined, what
                seen.append(what)
            assert seen[:3] == ["skip", "model", "INPUT"]
            wanted = ["model", "speedup", "acceptance", "step", "context", "filter", "pause", "csv"]
            assert [one for one in seen if one in wanted] == wanted


async def test_a_proxy_that_comes_back_is_found_again(look: Looking) -> None:
    """The page says that it is cut off, tries again by itself, and drops the old run's rows."""
    async with fake_llama() as fake:
        settings = Settings(
            upstream=(Upstream(url=fake.url, name="fake"),),
            listen="127.0.0.1:0",
            admin="127.0.0.1:0",
            drain_seconds=0.5,
        )
        first = Service(settings)
        await first.start()
        admin = first.admin_url
        shown = Shown(admin, first, [])
        try:
            await send(shown, 3)
            async with look(admin) as page:
                rows = page.page.locator("#recent tbody tr")
                await rows.nth(2).wait_for()
                await first.stop()
                await page.page.wait_for_selector("#connection[data-state=lost]")
                assert "Not connected" in await page.text("#connection")
                again = Settings(
                    upstream=settings.upstream,
                    listen="127.0.0.1:0",
                    admin=admin.removeprefix("http://"),
                    drain_seconds=0.5,
                )
                second = Service(again)
                await second.start()
                try:
                    await page.page.wait_for_selector("#connection[data-state=live]")
                    await expect(rows).to_have_count(0)
                finally:
                    await second.stop()
        finally:
            await first.stop()


async def test_a_key_lets_the_page_in(look: Looking, tmp_path: Path) -> None:
    """Where the admin listener wants a key, a browser's password opens the page and its events."""
    file = tmp_path / "keys"
    file.write_text("secret-1\n")
    async with fake_llama() as fake, before(fake, admin_keys_file=str(file)) as shown:
        await send(shown, 6)
        async with look(shown.admin_url, key="secret-1") as page:
            assert "Faster" in await page.headline()
            assert await page.page.locator("#recent tbody tr").count() == 6


async def test_a_first_paint_takes_little(look: Looking) -> None:
    """Files, state and rows of a busy day are below 300 kB together."""
    async with (
        fake_llama(models=MANY) as fake,
        before(fake) as shown,
    ):
        remember(shown, 60, model="model-1")
        total = 0
        async with look(shown.admin_url) as page, aiohttp.ClientSession() as client:
            files = {url for url in page.requests if "/api/" not in url}
            assert len(files) > 8
            for url in files:
                async with client.get(url) as response:
                    total += len(await response.read())
            async with client.get(f"{shown.admin_url}/api/events") as response:
                async for line in response.content:
                    total += len(line)
                    if line.startswith(b'data: {"start_over"'):
                        break
        assert 100_000 < total < 300_000
