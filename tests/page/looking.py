"""An open page, and what is at fault with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page

Scheme = Literal["light", "dark"]

WIDTHS = (1440, 390)
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

_OVERFLOWING = """() => {
  const wide = document.documentElement.clientWidth;
  const scrolls = (element) => {
    for (let up = element.parentElement; up; up = up.parentElement) {
      if (getComputedStyle(up).overflowX !== "visible") return true;
    }
    return false;
  };
  const out = [...document.querySelectorAll("body *")].filter((element) => {
    const box = element.getBoundingClientRect();
    const isSeen = box.width > 1 && getComputedStyle(element).clipPath === "none";
    return isSeen && (box.right > wide + 1 || box.left < -1) && !scrolls(element);
  });
  const page = document.documentElement.scrollWidth > wide ? ["the page"] : [];
  const named = (one) => one.id || one.className.baseVal || one.className;
  return [...page, ...out.map((one) => `${one.tagName} ${named(one)}`)];
}"""


@dataclass
class Look:
    """One open page."""

    page: Page
    console: list[str] = field(default_factory=list)
    """Errors and warnings."""
    requests: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    received: int = 0
    """Bytes of bodies that have come in whole."""

    async def text(self, selector: str) -> str:
        """Return the text of one element."""
        return await self.page.locator(selector).inner_text()

    async def headline(self) -> str:
        """Return the verdict's words."""
        return await self.text("#verdict .headline")

    async def overflowing(self) -> list[str]:
        """Name what is wider than the page."""
        found: list[str] = await self.page.evaluate(_OVERFLOWING)
        return found

    async def accessibility_faults(self) -> list[str]:
        """Have axe-core look at the page."""
        results = await Axe().run(self.page)
        return [
            f"{one['id']}: {node['target']} {node['failureSummary']}"
            for one in results.response["violations"]
            for node in one["nodes"]
        ]


@asynccontextmanager
async def looking(
    browser: Browser,
    url: str,
    width: int = 1440,
    scheme: Scheme = "light",
    range_: str = "1h",
    *,
    key: str = "",
) -> AsyncIterator[Look]:
    """Open the page, and wait for what the proxy tells it first."""
    context = await browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        http_credentials={"username": "me", "password": key} if key else None,
    )
    try:
        page = await context.new_page()
        look = Look(page)
        page.on("console", lambda one: look.console.append(f"{one.type}: {one.text}"))
        page.on("pageerror", lambda error: look.console.append(str(error)))
        page.on("request", lambda one: look.requests.append(one.url))
        page.on("requestfailed", lambda one: look.failed.append(one.url))
        await page.goto(f"{url}/#range={range_}")
        await page.wait_for_selector("#verdict .headline")
        await page.wait_for_selector("#connection[data-state=live]")
        yield look
    finally:
        await context.close()
