"""A real Chromium on a run's page: what it does there, and what it holds in memory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from measure.figures import CannotMeasure

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Page

PROBE = Path(__file__).with_name("browser_probe.js")
SIZE = {"width": 1440, "height": 900}


class Held(NamedTuple):
    """What a page holds after its garbage is collected."""

    elements: int  # in the document
    nodes: int  # of Blink, with those that scripts keep although they are in no document
    heap: float  # MB of JavaScript


def browser_path() -> str:
    """The browser to start; raises CannotMeasure when there is none."""
    path = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
    if not path.exists():
        raise CannotMeasure(f"no Chromium at {path}; install it or name it in CHROMIUM")
    return str(path)


@asynccontextmanager
async def chromium(address: str, session: str) -> AsyncIterator[BrowserContext]:
    """A browser that is signed in at the address, with the probe in each of its pages."""
    path = browser_path()
    try:
        from playwright.async_api import Error, async_playwright
    except ImportError:
        raise CannotMeasure("Playwright is not installed; `make install-dev` installs it") from None
    async with async_playwright() as play:
        try:
            browser = await play.chromium.launch(executable_path=path, args=["--no-sandbox"])
            context = await browser.new_context(viewport=SIZE)  # type: ignore[arg-type]  # it wants its own dict type
            context.set_default_timeout(60_000)
            await context.add_cookies([{"name": "aiswe_session", "value": session, "url": address}])
            await context.add_init_script(path=PROBE)
            yield context
        except Error as problem:
            raise CannotMeasure(f"the browser: {problem.message.splitlines()[0]}") from None


async def held(page: Page) -> Held:
    """What the page holds now."""
    talk: CDPSession = await page.context.new_cdp_session(page)
    try:
        await talk.send("Performance.enable")
        for _ in range(2):  # what finalizers let go of goes with the second
            await talk.send("HeapProfiler.collectGarbage")
        told: dict[str, Any] = await talk.send("Performance.getMetrics")
        metrics = {one["name"]: one["value"] for one in told["metrics"]}
        elements = await page.evaluate("probe.elements()")
        return Held(elements, int(metrics["Nodes"]), metrics["JSHeapUsedSize"] / 1e6)
    finally:
        await talk.detach()


async def opened(page: Page, address: str) -> float:
    """Open a run's page; milliseconds until its first row is in the DOM."""
    await page.goto("about:blank")
    await page.goto(address, wait_until="commit")
    return float(await page.evaluate("probe.first()"))


async def jumped(page: Page, address: str, seq: int) -> float:
    """Open the page of one event; milliseconds until its row is in view."""
    await page.goto("about:blank")
    await page.goto(address, wait_until="commit")
    return float(await page.evaluate("seq => probe.seen(seq)", seq))


async def searched(page: Page, words: str, expected: int) -> float:
    """Search by the page's own field; milliseconds from the navigation to its first row. Raises CannotMeasure."""
    await page.fill("#f-q", words)
    async with page.expect_navigation(wait_until="commit"):
        await page.press("#f-q", "Enter")
    took = float(await page.evaluate("probe.first()"))
    await page.wait_for_load_state()
    if (there := await page.locator("#stream .ev").count()) != expected:
        raise CannotMeasure(f"the search for {words!r} shows {there} rows of {expected}")
    return took


async def live(page: Page) -> None:
    """Wait until the socket of the page is there."""
    await page.wait_for_selector('#live[data-state="live"]')


async def caught_up(page: Page, last: int) -> None:
    """Wait until the page has the newest event, and has no row wrong; raises CannotMeasure."""
    await page.wait_for_selector(f"#e{last}", state="attached")
    if wrong := await page.evaluate("probe.wrong()"):
        raise CannotMeasure(f"rows of the page are missing or doubled at event {wrong[0]}")
