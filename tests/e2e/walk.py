"""Every page of the site in a browser: what axe and the browser say of it, whether it overflows, how it looks.

`python -m tests.e2e.walk FOLDER` opens all of them at both widths, in both themes and in three states of the site, and
puts a picture of each into the folder. Exit code 1 when there is a complaint.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.e2e.accessibility import complaints_of
from tests.e2e.server import Site

STATES = ("empty", "busy", "finished")
HEIGHTS = {1440: 900, 390: 844}
TALLEST, NARROWEST = 4_000, 320
# Two turns show a page at both widths and in both themes, every second page in the other two ways.
WAYS = ((1440, "light"), (390, "dark"), (1440, "dark"), (390, "light"))


def walk(
    browser: Any, site: Site, pages: dict[str, dict[str, str]], *, turns: int = len(WAYS), folder: Path | None = None
) -> Iterator[str]:
    """Open each page in so many of the ways, and say what is wrong with it."""
    heard: list[str] = []
    windows = [_window(browser, *way, heard) for way in WAYS]
    for place, (name, page) in enumerate(pages.items()):
        for turn in range(turns):
            way = (2 * place + turn) % len(WAYS)
            window, (width, theme) = windows[way], WAYS[way]
            _open(window, site.url, page, theme)
            if folder:
                _picture(window, width, folder / f"{name}-{width}-{theme}.png")
            said = complaints_of(window)
            if "path" in page:  # a page that comes as text has no server behind it that would answer its scripts
                said += heard
            said += _overflow(window, width)
            yield from (f"{name} {width} {theme}: {one}" for one in said)
            heard.clear()
    for window in windows:
        window.context.close()


def _window(browser: Any, width: int, theme: str, heard: list[str]) -> Any:
    """A window of this width, narrow ones for fingers; what it complains of is added to `heard`."""
    size = {"width": width, "height": HEIGHTS[width]}
    window = browser.new_context(viewport=size, color_scheme=theme, has_touch=width < 1000).new_page()
    window.on("console", lambda said: heard.append(said.text) if _is_ours(said) else None)
    window.on("pageerror", lambda error: heard.append(str(error)))
    return window


def _is_ours(said: Any) -> bool:
    """An error or warning that the page is to blame for, rather than a load that the browser broke off."""
    return said.type in ("error", "warning") and "net::" not in said.text


def _open(window: Any, url: str, page: dict[str, str], theme: str) -> None:
    """Load an address as the person of its session, or show a page that comes as text."""
    window.context.clear_cookies()
    window.context.add_cookies([{"name": "theme", "value": theme, "url": url}])
    if "session" in page:
        window.context.add_cookies([{"name": "aiswe_session", "value": page["session"], "url": url}])
    if "html" in page:
        window.route("**/as-text", lambda route: route.fulfill(body=page["html"], content_type="text/html"))
    window.goto(url + page.get("path", "/as-text"))


def _overflow(window: Any, width: int) -> list[str]:
    """Whether a page scrolls sideways, also where it is narrower than any phone (WCAG 2.2, 1.4.10)."""
    found = []
    for narrow in (width, NARROWEST) if width < 1000 else (width,):
        window.set_viewport_size({"width": narrow, "height": HEIGHTS[width]})
        if window.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"wider than {narrow} px")
    window.set_viewport_size({"width": width, "height": HEIGHTS[width]})
    return found


def _picture(window: Any, width: int, path: Path) -> None:
    """All of a page, in a window as high as it: Chromium forgets the touch screen for a picture of a full page."""
    height = max(HEIGHTS[width], min(window.evaluate("document.documentElement.scrollHeight"), TALLEST))
    window.set_viewport_size({"width": width, "height": height})
    window.wait_for_timeout(300)  # until what slides in is there
    window.screenshot(path=path)
    window.set_viewport_size({"width": width, "height": HEIGHTS[width]})


def main() -> int:
    """The command line."""
    from playwright.sync_api import sync_playwright

    from tests.e2e.conftest import CHROMIUM

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--state", choices=STATES, action="append", help="only this state; may be repeated")
    parser.add_argument("--page", action="append", help="only this page; may be repeated")
    given, opened, bad = parser.parse_args(), 0, 0
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        for state in given.state or STATES:
            with tempfile.TemporaryDirectory(prefix="aiswe-walk-") as home:
                site = Site(Path(home))
                try:
                    pages = site.do("state", state=state)["pages"]
                    pages = {name: page for name, page in pages.items() if name in (given.page or pages)}
                    (folder := given.folder / state).mkdir(parents=True, exist_ok=True)
                    for complaint in walk(browser, site, pages, folder=folder):
                        sys.stdout.write(f"{state} {complaint}\n")
                        sys.stdout.flush()
                        bad += 1
                    opened += len(pages)
                finally:
                    site.kill()
        browser.close()
    sys.stdout.write(f"{opened} pages opened in {len(WAYS)} ways, {bad} complaints\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
