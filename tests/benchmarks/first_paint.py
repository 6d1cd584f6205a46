"""`python -m tests.benchmarks.first_paint`: how soon the live page shows something, in Chromium.

Each look is a fresh browser context, so that nothing is cached: milliseconds from navigation to the
first contentful paint, and bytes that came for it.
"""

import argparse
import asyncio
import shutil
import sys
from statistics import median

from playwright.async_api import Browser, async_playwright

from specmeter.config import Settings, Upstream
from specmeter.service import Service

_PAINTED = """() => new Promise(tell => {
  const seen = performance.getEntriesByName('first-contentful-paint');
  if (seen.length) { tell(seen[0].startTime); return; }
  new PerformanceObserver(list => {
    const found = list.getEntriesByName('first-contentful-paint');
    if (found.length) tell(found[0].startTime);
  }).observe({type: 'paint', buffered: true});
})"""
_BYTES = """() => performance.getEntriesByType('resource')
  .concat(performance.getEntriesByType('navigation'))
  .reduce((sum, one) => sum + one.transferSize, 0)"""


async def look(browser: Browser, url: str) -> tuple[float, int]:
    """Open the page once; return milliseconds and bytes."""
    context = await browser.new_context()
    try:
        page = await context.new_page()
        await page.goto(url, wait_until="load")
        return await page.evaluate(_PAINTED), await page.evaluate(_BYTES)
    finally:
        await context.close()


async def measure(looks: int) -> list[tuple[float, int]]:
    """Look at the page of a proxy without traffic, several times."""
    path = shutil.which("chromium")
    if path is None:
        sys.exit("Chromium is not installed: apt-get install chromium")
    settings = Settings(
        upstream=(Upstream(url="http://127.0.0.1:9"),), listen="127.0.0.1:0", admin="127.0.0.1:0"
    )
    service = Service(settings)
    await service.start()
    try:
        async with (
            async_playwright() as playwright,
            await playwright.chromium.launch(executable_path=path) as browser,
        ):
            return [await look(browser, service.admin_url) for _ in range(looks)]
    finally:
        await service.stop()


def main() -> None:
    """Measure and print the spread."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--looks", type=int, default=10)
    found = asyncio.run(measure(parser.parse_args().looks))
    times = sorted(milliseconds for milliseconds, _ in found)
    sizes = {size for _, size in found}
    sys.stdout.write(
        f"first contentful paint: {median(times):.0f} ms ({times[0]:.0f} to {times[-1]:.0f}), "
        f"{max(sizes) / 1000:.0f} kB, {len(found)} looks\n"
    )


if __name__ == "__main__":
    main()
