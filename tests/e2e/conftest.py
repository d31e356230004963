"""A Chromium, and a site in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.server import Site
from tests.needs import missing

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser; without one the tests are skipped, in CI they fail.

    Closed after each file: as long as sync Playwright lives, no other test can run an event loop in this thread.
    """
    if not CHROMIUM.exists():
        missing(f"no Chromium at {CHROMIUM}; install it or name it in CHROMIUM")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # how fast a page is depends on what else the machine does: no verdict
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site with the story in it."""
    site = Site(tmp_path_factory.mktemp("site"))
    try:
        yield site
    finally:
        site.kill()


@pytest.fixture(scope="module")
def story(site: Site) -> dict[str, Any]:
    """Numbers of what is in the site, and sessions of people."""
    return site.do("story")


@pytest.fixture
def window(chromium: Any, site: Site, story: dict[str, Any]) -> Iterator[Callable[..., Any]]:
    """Opens a page signed in as the owner; every complaint of the browser fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_page(
        path: str,
        *,
        theme: str = "light",
        signed_in: bool = True,
        quiet: bool = False,
        phone: bool = False,
        **options: Any,
    ) -> Any:
        size = {"width": 390, "height": 844} if phone else {"width": 1440, "height": 900}
        context = chromium.new_context(viewport=size, **options)
        contexts.append(context)
        context.add_cookies([{"name": "theme", "value": theme, "url": site.url}])
        if signed_in:
            context.add_cookies([{"name": "aiswe_session", "value": story["session"], "url": site.url}])
        context.add_init_script(
            "document.addEventListener('securitypolicyviolation', e => console.error('CSP ' + e.violatedDirective))"
        )
        page = context.new_page()
        if not quiet:
            page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
            page.on("pageerror", lambda e: complaints.append(str(e)))
            page.on("dialog", lambda d: (complaints.append("dialog"), d.dismiss()))
            page.on("response", lambda r: complaints.append(f"{r.status} {r.url}") if r.status >= 500 else None)
            page.on(
                "request",
                lambda r: None if r.url.startswith((site.url, "data:")) else complaints.append(f"asked {r.url}"),
            )
        page.goto(site.url + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
